import Experimentation
import ExperimentationTesting
import Testing

@Suite("Reading flags of a session")
struct SessionReadingTests {
    static let flags = [
        InMemoryFlag("bool", true), InMemoryFlag("int", 3), InMemoryFlag("whole", 3.0), InMemoryFlag("double", 0.5),
        InMemoryFlag("string", "red"), InMemoryFlag("object", ["a": 1]), InMemoryFlag("list", [1, 2]),
        InMemoryFlag("off", variants: ["x": true], defaultVariant: "x", isDisabled: true),
        InMemoryFlag("left", variants: ["x": true], defaultVariant: nil),
        InMemoryFlag("told", variants: ["x": 1], defaultVariant: "x", metadata: ["owner": "shop"]),
    ]

    func session(_ options: ClientOptions = ClientOptions()) async throws -> UserSession {
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: Self.flags),
            options: options,
            environment: ClientEnvironment(time: ManualTime())
        )
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        return session
    }

    @Test("each type reads values that convert without loss, and the default otherwise")
    func types() async throws {
        let session = try await session()
        #expect(session.bool("bool", default: false))
        #expect(session.int("int", default: 0) == 3)
        #expect(session.int("whole", default: 0) == 3)
        #expect(session.int("double", default: 7) == 7)
        #expect(session.double("int", default: 0) == 3)
        #expect(session.double("double", default: 0) == 0.5)
        #expect(session.string("string", default: "blue") == "red")
        #expect(session.object("object", default: [:]) == ["a": 1])
        #expect(session.object("list", default: []) == [1, 2])
        #expect(session.int("bool", default: 7) == 7)
        #expect(session.double("bool", default: 7) == 7)
        #expect(session.bool("int", default: true))
        #expect(session.string("int", default: "7") == "7")
        #expect(session.object("string", default: ["b": 2]) == ["b": 2])
    }

    @Test("details have value, variant, reason and error")
    func details() async throws {
        let session = try await session()
        #expect(
            session.details("bool", default: false)
                == EvaluationDetails(flagKey: "bool", value: true, variant: "on", reason: .static)
        )
        #expect(
            session.details("told", default: 0)
                == EvaluationDetails(
                    flagKey: "told",
                    value: 1,
                    variant: "x",
                    reason: .static,
                    metadata: ["owner": "shop"]
                )
        )
        #expect(
            session.details("string", default: 1)
                == EvaluationDetails(
                    flagKey: "string",
                    value: 1,
                    reason: .error,
                    errorCode: .typeMismatch,
                    errorMessage: "The flag's value is of another type."
                )
        )
        #expect(session.details("missing", default: 1).errorCode == .flagNotFound)
        #expect(session.details("off", default: false).reason == .disabled)
        #expect(session.details("off", default: false).errorCode == nil)
        #expect(
            session.details("left", default: true) == EvaluationDetails(flagKey: "left", value: true, reason: .default)
        )
    }

    @Test("before the first refresh every read is the default, because the provider isn't ready")
    func notReady() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider(flags: Self.flags))
        let session = client.session(for: User(id: "ada"))
        #expect(session.bool("bool", default: false) == false)
        #expect(session.details("bool", default: false).errorCode == .providerNotReady)
        #expect(session.status == .notReady)
    }

    @Test("without a session, the current rules decide for a user")
    func stateless() async throws {
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(
                flags: Self.flags + [
                    InMemoryFlag("vip", variants: ["y": true, "n": false], defaultVariant: "n") { context in
                        context["vip"] == true ? "y" : nil
                    }
                ]
            )
        )
        let ada = User(id: "ada", attributes: ["vip": true])
        #expect(client.details("vip", default: false, for: ada).errorCode == .providerNotReady)
        try await client.refresh()
        #expect(client.bool("vip", default: false, for: ada))
        #expect(client.details("vip", default: false, for: ada).reason == .targetingMatch)
        #expect(client.details("vip", default: true, for: User(id: "bob")).reason == .default)
        #expect(client.string("string", default: "", for: ada) == "red")
        #expect(client.details("string", default: "", for: User(id: "")).errorCode == .targetingKeyMissing)
    }

    @Test("attributes take precedence in the order user, client, transaction, shared")
    func levels() async throws {
        let shared = SharedAttributes(["level": "shared"])
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: [
                InMemoryFlag(
                    "level",
                    variants: ["shared": "shared", "transaction": "transaction", "client": "client", "user": "user"],
                    defaultVariant: nil
                ) { $0["level"]?.stringValue }
            ]),
            options: ClientOptions(sharedAttributes: shared)
        )
        try await client.refresh()
        func level(_ user: User = User(id: "ada")) -> String { client.string("level", default: "none", for: user) }
        #expect(level() == "shared")
        TransactionAttributes.$current.withValue(["level": "transaction"]) { #expect(level() == "transaction") }
        client.attributes = ["level": "client"]
        TransactionAttributes.$current.withValue(["level": "transaction"]) { #expect(level() == "client") }
        #expect(level(User(id: "ada", attributes: ["level": "user"])) == "user")
    }
}
