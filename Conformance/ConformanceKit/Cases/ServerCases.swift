import Experimentation
import Synchronization

extension ConformanceCase {
    /// Promises 1 and 11 without a session, as on a server; also hooks and the sources of attributes.
    static let serving: [ConformanceCase] = [
        ConformanceCase(
            "users/one-flag-without-a-session",
            promise: 1,
            "One flag is read for one user after another, without a session",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: .targeted
        ) { probe in
            let client = try await probe.client()
            for (user, expected) in [(User.ada, "phone"), (.ben, "mail"), (.ada, "phone")] {
                let decisions = try await client.decisions(for: user)
                probe.expect(decisions.string("support", default: "?"), equals: expected, "\(user.id)'s decisions")
                let details = client.details("support", default: "?", for: user)
                probe.expect(details.value, equals: expected, "\(user.id)'s flag")
                probe.expect(details.errorCode, equals: nil, "the code")
                let missing = client.details("no-such-flag-7c1", default: 3, for: user)
                probe.expect(missing.value, equals: 3, "the default")
                probe.expect(missing.errorCode, equals: .flagNotFound, "the code of a flag that isn't there")
            }
        },
        ConformanceCase(
            "users/nobody-is-not-ready",
            promise: 1,
            "With the vendor unreachable, a user without decisions gets the default, with a code",
            requires: [.flags],
            world: .oneFlag
        ) { probe in
            try await probe.setReachable(false)
            let client = try await probe.client()
            await probe.expectError("decisions") { _ = try await client.decisions(for: .ada) }
            let details = client.details("welcome", default: "x", for: .ada)
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.reason, equals: .error, "the reason")
        },
        delivery(
            "users/events-without-a-session",
            11,
            "Events tracked without a session arrive as the user's, in order",
            fields: [.userID]
        ) { probe in
            let client = try await probe.client()
            for number in 1...4 {
                let user = number.isMultiple(of: 2) ? User.ben : .ada
                try await client.track(try await probe.event(number), for: user)
            }
            try await probe.deliverAll()
            probe.expect(try await probe.marks(of: "ada"), equals: [1, 3], "ada's events")
            probe.expect(try await probe.marks(of: "ben"), equals: [2, 4], "ben's events")
        },
        ConformanceCase(
            "hooks/stages",
            promise: 4,
            "Hooks run around every read, in order, with the result that the reader gets",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let hook = StageRecorder()
            _ = try await probe.client(ClientOptions(name: "shop", hooks: [hook]))
            let session = try await probe.readySession()
            probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value")
            probe.expect(
                hook.stages,
                equals: ["before welcome", "after welcome Hello!", "finally welcome Hello!"],
                "the stages of a flag that is there"
            )
            _ = session.string("no-such-flag-7c1", default: "x")
            probe.expect(
                Array(hook.stages.dropFirst(3)),
                equals: [
                    "before no-such-flag-7c1", "error no-such-flag-7c1 FLAG_NOT_FOUND", "finally no-such-flag-7c1 x",
                ],
                "the stages of a flag that isn't"
            )
            let name = try await probe.provider().name
            probe.expect(hook.providers, equals: [name], "the provider's name, as hooks hear it")
        },
        ConformanceCase(
            "hooks/a-refusal-gives-the-default",
            promise: 4,
            "An evaluation that a hook rejects gives the default with the hook's code, and isn't an exposure",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            _ = try await probe.client(ClientOptions(hooks: [RefusingHook()]))
            let session = try await probe.readySession()
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.errorCode, equals: .invalidContext, "the code")
            probe.expect(details.reason, equals: .error, "the reason")
        },
        ConformanceCase(
            "contexts/merging",
            promise: 3,
            "A user's attributes override the client's, and those override the shared ones",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: .targeted
        ) { probe in
            let shared = SharedAttributes(["plan": "free"])
            _ = try await probe.client(ClientOptions(attributes: ["plan": "pro"], sharedAttributes: shared))
            let anybody = try await probe.readySession(for: User(id: "anybody", consent: .granted))
            probe.expect(
                anybody.string("support", default: "?"),
                equals: "phone",
                "the client's plan before the shared"
            )
            let ben = try await probe.readySession(for: .ben)
            probe.expect(ben.string("support", default: "?"), equals: "mail", "ben's own plan before the client's")
            try await probe.client().attributes = [:]
            await probe.refresh(anybody)
            probe.expect(
                anybody.string("support", default: "?"),
                equals: "mail",
                "the shared plan, without the client's"
            )
            shared.attributes = ["plan": "pro"]
            await probe.refresh(anybody)
            probe.expect(anybody.string("support", default: "?"), equals: "phone", "the shared plan, changed")
        },
        ConformanceCase(
            "contexts/of-a-task",
            promise: 3,
            "A task's attributes override the shared ones, and the client's override the task's",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: .targeted
        ) { probe in
            let shared = SharedAttributes(["plan": "free"])
            let client = try await probe.client(ClientOptions(sharedAttributes: shared))
            let user = User(id: "anybody", consent: .granted)
            let value = try await TransactionAttributes.$current.withValue(["plan": "pro"]) {
                try await client.decisions(for: user).string("support", default: "?")
            }
            probe.expect(value, equals: "phone", "the task's plan before the shared")
            client.attributes = ["plan": "free"]
            let under = try await TransactionAttributes.$current.withValue(["plan": "pro"]) {
                try await client.decisions(for: user).string("support", default: "?")
            }
            probe.expect(under, equals: "mail", "the client's plan before the task's")
        },
    ]
}

/// Records the stages of every evaluation.
private final class StageRecorder: Hook {
    private let state = Mutex<(stages: [String], providers: Set<String>)>(([], []))
    var stages: [String] { state.withLock { $0.stages } }
    var providers: Set<String> { state.withLock { $0.providers } }

    private func note(_ stage: String, _ context: HookContext, _ rest: String = "") {
        state.withLock { state in
            state.stages.append([stage, context.flagKey, rest].filter { !$0.isEmpty }.joined(separator: " "))
            state.providers.insert(context.providerName)
        }
    }

    func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
        note("before", context)
        return nil
    }
    func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError) { note("after", context, details.value.stringValue ?? "") }
    func error(_ context: HookContext, error: ExperimentationError, data: inout HookData) {
        note("error", context, error.code.rawValue)
    }
    func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        note("finally", context, details.value.stringValue ?? "")
    }
}

/// Rejects every evaluation.
private struct RefusingHook: Hook {
    func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
        throw ExperimentationError(.invalidContext, "not today")
    }
}
