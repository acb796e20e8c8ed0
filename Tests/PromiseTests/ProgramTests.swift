import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import MockVendors
import Testing
import VendorCatalog

@Suite("The programs on the pages", .timeLimit(.minutes(5)))
struct ProgramTests {
    /// The Swift code blocks of a page.
    private static func blocks(of page: String) throws -> [String] {
        try String(contentsOf: packageRoot.appending(path: page), encoding: .utf8)
            .components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
    }

    private static func program(_ name: String) throws -> String {
        let file = packageRoot.appending(path: "Tests/PromiseTests/Programs/\(name).swift")
        return try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .newlines)
    }

    @Test(
        "equal what is compiled here, character by character",
        arguments: [("README.md", "ReadmeProgram"), ("docs/on-a-server.md", "ServerProgram")]
    )
    func blocks(page: String, program: String) throws {
        #expect(try Self.blocks(of: page).contains(Self.program(program)))
    }

    @Test("every call in the README's table is compiled here, character by character")
    func calls() throws {
        /// Ignores layout: the formatter breaks lines that a table can't.
        func code(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }
        let page = try String(contentsOf: packageRoot.appending(path: "README.md"), encoding: .utf8)
        let table = page.split(separator: "\n").filter { $0.hasPrefix("|") && $0.contains("`try await visit(") }
        let compiled = code(try Self.program("ReadmeCalls"))
        #expect(table.count == VendorCatalog.names.count + 1)
        for row in table {
            let call = try #require(row.split(separator: "`").dropFirst().first)
            #expect(compiled.contains(code(call)), "\(row)")
        }
    }

    @Test("the README's program succeeds with every vendor", arguments: VendorCatalog.names)
    func readme(name: String) async throws {
        let vendor = try #require(ConformanceSubjects.Vendor.named(name))
        let stage = try await #require(vendor.subjects.first).open(.shop)
        let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let answer = try await visit(stage.makeProvider(), events: folder.appending(path: "events.sqlite"))
        let code = ["flagship", "sigma", "ofrep"].contains(name) ? "FLAG_NOT_FOUND" : "UNSUPPORTED"
        #expect(answer == "red, because \(code)")
        #expect(try await stage.received().isEmpty == ["sigma", "engage", "ofrep"].contains(name))
        await stage.close()
    }

    @Test("the server's program answers and tracks with every vendor", arguments: VendorCatalog.names)
    func server(name: String) async throws {
        let vendor = try #require(ConformanceSubjects.Vendor.named(name))
        let stage = try await #require(vendor.subjects.first).open(.shop)
        let shop = try await Shop(stage.makeProvider(), store: .inMemory())
        let order = Order(id: "o-1", lines: [LineItem(item: CatalogItem(id: "sku", price: 20))], total: 20)
        let answers = await withTaskGroup(of: String.self) { group in
            for number in 0..<20 {
                group.addTask { await shop.answer(userID: "u-\(number)", plan: "pro", order: order) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "red", count: 20))
        // On a busy machine, a shutdown alone may run out of time.
        _ = try await shop.client.flush()
        await shop.client.shutdown()
        let received = try await stage.received().count
        // Sigma and OFREP accept no events, and Engage has no purchases.
        #expect(["sigma", "engage", "ofrep"].contains(name) ? received == 0 : received >= 20)
        await stage.close()
    }

    @Test("the catalog creates each vendor's provider from its mock's output", arguments: VendorCatalog.names)
    func catalogue(name: String) async throws {
        let vendor = try #require(ConformanceSubjects.Vendor.named(name))
        let mock = try await vendor.mock(with: .shop).vendor
        let server = MockServer(mock)
        try await server.start()
        let head: FlagValue = [
            "vendor": .string(name), "url": .string(server.url),
            "endpoints": .object(server.endpoints.mapValues { .string($0) }),
            "credentials": .object(mock.credentials.mapValues { .string($0) }),
        ]
        let json = [UInt8](try JSONEncoder().encode(head))
        let provider = try VendorCatalog.provider(json: json, file: "mock.json")
        #expect(provider.name == name)
        #expect { try VendorCatalog.provider(json: Array(#"{"vendor":"nobody"}"#.utf8), file: "c.json") } throws: {
            ($0 as? ExperimentationError)?.message.contains("c.json: \"vendor\": there is no \"nobody\"") == true
        }
        await server.stop()
    }
}
