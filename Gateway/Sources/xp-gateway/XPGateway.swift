import Experimentation
import Foundation
import GatewayServer
import Logging
import ServiceLifecycle
import UnixSignals

/// The gateway as a program.
@main
enum XPGateway {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch let error as Usage {
            Output.say(error.message)
            exit(64)
        } catch {
            Output.say("xp-gateway: \(error)")
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard try Usage.wantsToRun(arguments) else { return }
        let demonstration = try await Demonstration()
        let environment = ClientEnvironment(log: .printing(.warning))
        let gateway = try await Gateway(demonstration.configuration, environment: environment)
        let services = try gateway.services { address in demonstration.announce(address) }
        let group = ServiceGroup(
            services: [demonstration] + services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "xp-gateway") { _ in SwiftLogNoOpLogHandler() }
        )
        try await group.run()
    }
}

/// What the program is told on its command line, and a complaint about that.
struct Usage: Error {
    let message: String

    static let text = """
        OVERVIEW: Serve OpenFeature's remote evaluation protocol over any of the vendors.

        Without options it serves a demonstration: the shop of the default scenario at a mock of Flagship, evaluated here, \
        on loopback. The first line on standard output is JSON: the address, the tenant and its token.

        USAGE: xp-gateway [--help]

        """

    /// Whether there is anything to run.
    static func wantsToRun(_ arguments: [String]) throws -> Bool {
        guard let first = arguments.first else { return true }
        guard first == "--help" || first == "-h" else {
            throw Usage(message: "xp-gateway: unknown argument \"\(first)\"\n\n\(text)")
        }
        Output.print(text)
        return false
    }
}

/// The two streams.
enum Output {
    /// Writes to standard output.
    static func print(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    /// Writes a line for a person to standard error.
    static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
