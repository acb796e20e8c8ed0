import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

/// The state shared by a scenario's steps, and the steps themselves.
final class OpenFeatureScene {
    enum Value {
        case bool(Bool), int(Int), double(Double), string(String), object(FlagValue)
    }

    /// A step without an implementation.
    struct UnknownStep: Error, CustomStringConvertible { let description: String }

    let scenario: GherkinScenario
    let flags: [InMemoryFlag]
    let calls = OpenFeatureHook.Calls()
    let shared = SharedAttributes()
    let seenContext = SeenContext()
    var store = ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    var provider = InMemoryProvider()
    var client: ExperimentationClient?
    var invocation: Attributes = [:]
    var transaction: Attributes = [:]
    var options = EvaluationOptions()
    var clientHooks: [any Hook] = []
    var asked: (type: String, key: String, fallback: String)?
    var details: EvaluationDetails<FlagValue>?
    var evaluations = 0
    var levels: [String] = []

    /// The context that the provider received.
    final class SeenContext: Sendable {
        private let state = Mutex<Attributes>([:])
        var attributes: Attributes {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    init(_ scenario: GherkinScenario, flags: [InMemoryFlag]) {
        self.scenario = scenario
        self.flags = flags
    }

    func play() async throws {
        for step in scenario.steps {
            try await take(step)
        }
        await client?.shutdown(within: .seconds(1))
    }

    // MARK: Providers

    func start(_ kind: String) async throws {
        await client?.shutdown(within: .seconds(1))
        var flags = flags
        if kind == "retrievable" {
            flags.append(
                InMemoryFlag("some-flag", variants: ["on": true], defaultVariant: "on") { [seenContext] context in
                    seenContext.attributes = context.user.attributes
                    return nil
                }
            )
        }
        provider = InMemoryProvider(flags: flags)
        store = ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
        let failure: ErrorCode? = ["error": .general, "fatal": .providerFatal][kind]
        if let failure { provider.setFailure(ExperimentationError(failure, "On purpose.")) }
        client = try await ExperimentationClient(
            provider: provider,
            store: store,
            options: ClientOptions(name: "scene", sharedAttributes: shared, hooks: clientHooks)
        )
        guard kind != "not ready" else { return }
        try? await client?.refresh()
        if kind == "stale" {
            provider.setFailure(ExperimentationError(.transport, "On purpose."))
            try? await client?.refresh(force: true)
        }
    }

    /// Starts another client on the same store that hasn't refreshed, so its values are cached.
    private func startFromCache() async throws {
        let old = provider
        await client?.shutdown(within: .seconds(1))
        old.setFailure(ExperimentationError(.transport, "On purpose."))
        client = try await ExperimentationClient(provider: old, store: store)
    }

    // MARK: Evaluating

    func evaluate(options: EvaluationOptions? = nil) async throws {
        let (type, key, fallback) = try #require(asked)
        evaluations += 1
        if evaluations > 1, scenario.tags.contains("@reason-codes-cached") { try await startFromCache() }
        let client = try #require(client)
        let user = User(id: "user", attributes: invocation, consent: .granted)
        details = try TransactionAttributes.$current.withValue(transaction) {
            switch type.lowercased() {
            case "boolean":
                client.details(key, default: fallback == "true", for: user, options: options).erased { .bool($0) }
            case "integer":
                client.details(key, default: try #require(Int(fallback)), for: user, options: options)
                    .erased { .int($0) }
            case "float":
                client.details(key, default: try #require(Double(fallback)), for: user, options: options)
                    .erased { .double($0) }
            case "string": client.details(key, default: fallback, for: user, options: options).erased { .string($0) }
            case "object":
                client.details(key, default: try Self.json(fallback), for: user, options: options).erased { $0 }
            default: throw UnknownStep(description: "type \(type)")
            }
        }
    }

    func expectValue(_ text: String) throws {
        let type = try #require(asked).type.lowercased()
        let expected: FlagValue =
            switch type {
            case "boolean": .bool(text == "true")
            case "integer": .int(try #require(Int(text)))
            case "float": .double(try #require(Double(text)))
            case "string": .string(text)
            default: try Self.json(text)
            }
        #expect(details?.value == expected)
    }

    func typed(_ text: String, _ type: String) throws -> FlagValue {
        switch type.lowercased() {
        case "boolean": .bool(text == "true")
        case "integer": .int(try #require(Int(text)))
        case "float": .double(try #require(Double(text)))
        default: .string(text)
        }
    }

    static func json(_ text: String) throws -> FlagValue {
        text == "null" ? .null : try JSONDecoder().decode(FlagValue.self, from: Data(text.utf8))
    }

    // MARK: Context levels

    func add(_ key: String, _ value: String, to level: String) throws {
        let attributes: Attributes = [key: .string(value)]
        switch level {
        case "API": shared.attributes = shared.attributes.merging(attributes)
        case "Transaction": transaction = transaction.merging(attributes)
        case "Client":
            let client = try #require(client)
            client.attributes = client.attributes.merging(attributes)
        case "Invocation": invocation = invocation.merging(attributes)
        case "Before Hooks": try #require(client).addHooks(OpenFeatureHook(attributes: attributes, calls: calls))
        default: throw UnknownStep(description: "level \(level)")
        }
    }
}

extension EvaluationDetails {
    func erased(_ box: (Value) -> FlagValue) -> EvaluationDetails<FlagValue> {
        EvaluationDetails<FlagValue>(
            flagKey: flagKey,
            value: box(value),
            variant: variant,
            reason: reason,
            errorCode: errorCode,
            errorMessage: errorMessage,
            metadata: metadata,
            age: age
        )
    }
}
