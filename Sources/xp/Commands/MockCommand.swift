import ArgumentParser
import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import MockVendors

/// The command `xp mock`.
struct MockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mock",
        abstract: "Serve one mock vendor on loopback until interrupted.",
        discussion: """
            The first line on standard output is JSON: the vendor, the base address, the named endpoints, and the \
            credentials that the mock accepts. Without a world it serves the shop of the default scenario.

            Besides the vendor's own paths there are
              GET  /_mock/requests   the last \(Self.mostExchanges) exchanges;
                                     Mock-Forgotten counts earlier ones
              POST /_mock/reset      undo what requests changed
              POST /_mock/script     faults for later requests, by
                                     docs/schemas/fault-script.schema.json

            EXAMPLES
              xp mock flagship --port 8081
              xp mock sigma --world world.json
            """
    )

    /// The limit on exchanges in /_mock/requests, since a mock may serve for days.
    private static let mostExchanges = 10_000

    @Argument(help: "The vendor.")
    var vendor: String

    @Option(help: ArgumentHelp("The port; any that is free if 0.", valueName: "n"))
    var port: Int = 0

    @Option(
        help: ArgumentHelp("A neutral world, JSON or YAML, or a file in the vendor's own format.", valueName: "file")
    )
    var world: String?

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port: expected a number from 0 to 65535") }
    }

    func run() async throws {
        guard let vendor = Vendor.named(vendor) else {
            let known = Vendor.all.map(\.name).joined(separator: ", ")
            throw Failure(.usage, "there is no vendor \"\(self.vendor)\"; expected one of \(known)")
        }
        let signals = await Signals()
        let mock = try await load(vendor)
        let server = MockServer(mock, port: port)
        server.journalLimit = Self.mostExchanges
        do {
            try await server.start()
        } catch {
            throw Failure(error)
        }
        let head: FlagValue = [
            "vendor": .string(vendor.name), "url": .string(server.url),
            "endpoints": .object(server.endpoints.mapValues { .string($0) }),
            "credentials": .object(mock.credentials.mapValues { .string($0) }),
        ]
        try Terminal.write(JSONLine.text(head) + "\n")
        await signals.wait()
        await server.stop()
    }

    private func load(_ vendor: Vendor) async throws -> any MockVendor {
        guard let path = world else { return try await fill(vendor, with: .shop) }
        let bytes = try InputFile.bytes(of: path)
        let document = try InputFile.document(bytes, named: path)
        // Only neutral worlds have a `name`; the vendors' own formats, all of them JSON, don't.
        if document.value.objectValue?["name"]?.stringValue != nil {
            do {
                let world = try World(document: document.value, named: document.name)
                return try await fill(vendor, with: world)
            } catch let error as DocumentError {
                throw Failure(document.locating(error))
            }
        }
        let mock = try await fill(vendor, with: .empty)
        do {
            try await mock.load(Data(bytes))
        } catch {
            throw Failure(
                .input,
                "\(path): expected a neutral world, with a \"name\", or \(vendor.name)'s own format: \(error)"
            )
        }
        return mock
    }

    private func fill(_ vendor: Vendor, with world: World) async throws -> any MockVendor {
        do {
            let (mock, gaps) = try await vendor.mock(with: world)
            if self.world != nil {
                for gap in gaps { Terminal.say("xp: \(vendor.name) can't hold \(gap)") }
            }
            return mock
        } catch {
            throw Failure(.checkFailed, "\(vendor.name)'s mock can't be filled: \(error)")
        }
    }
}
