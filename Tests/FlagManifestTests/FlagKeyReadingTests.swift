import Experimentation
import ExperimentationTesting
import Testing

@Suite("Flags are read by typed keys")
struct FlagKeyReadingTests {
    private struct Theme: Codable, Sendable, Equatable { var color: String }

    private enum Keys {
        static let on = FlagKey("on", default: false)
        static let size = FlagKey("size", default: 1)
        static let ratio = FlagKey("ratio", default: 0.5)
        static let name = FlagKey("name", default: "none")
        static let raw = FlagKey<FlagValue>("theme", default: nil)
        static let theme = FlagKey("theme", default: Theme(color: "plain"))
        static let missing = FlagKey("missing", default: "there isn't")
        static let mistyped = FlagKey("name", default: 7)
    }

    private func client() async throws -> ExperimentationClient {
        let provider = InMemoryProvider(flags: [
            InMemoryFlag("on", true), InMemoryFlag("size", 42), InMemoryFlag("ratio", 1.5), InMemoryFlag("name", "ada"),
            InMemoryFlag("theme", ["color": "red"]),
        ])
        return try await ExperimentationClient(provider: provider)
    }

    @Test("in a session as by text, with the key's default where there is no value of the type")
    func session() async throws {
        let session = try await client().session(for: User(id: "ada"))
        try await session.refresh()
        #expect(session[Keys.on] && session[Keys.size] == 42 && session[Keys.ratio] == 1.5)
        #expect(session[Keys.name] == "ada" && session[Keys.raw] == ["color": "red"])
        #expect(session[Keys.theme] == Theme(color: "red"))
        #expect(session[Keys.missing] == "there isn't" && session[Keys.mistyped] == 7)
        #expect(session.details(Keys.size) == session.details("size", default: 1))
        #expect(session.details(Keys.mistyped).errorCode == .typeMismatch)
        #expect(session.details(Keys.missing).errorCode == .flagNotFound)
        #expect(session.details(Keys.theme).value == Theme(color: "red"))
    }

    @Test("and in what was decided for one user")
    func decisions() async throws {
        let ada = try await client().decisions(for: User(id: "ada"))
        #expect(ada[Keys.on] && ada[Keys.size] == 42 && ada[Keys.ratio] == 1.5 && ada[Keys.name] == "ada")
        #expect(ada[Keys.raw] == ["color": "red"] && ada[Keys.theme] == Theme(color: "red"))
        #expect(ada[Keys.missing] == "there isn't" && ada[Keys.mistyped] == 7)
    }

    @Test("which the plug-in has written for this very target")
    func pluggedIn() async throws {
        let session = try await client().session(for: User(id: "ada"))
        #expect(session[Flags.pluggedIn])
        #expect(session[Flags.plugTheme] == Flags.PlugTheme(color: "red"))
    }
}
