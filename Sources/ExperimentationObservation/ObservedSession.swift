import Experimentation
import Observation

/// A session as a SwiftUI view watches it: a view that reads a flag is drawn again when that flag reads otherwise, and only then.
///
/// ```swift
/// struct CheckoutButton: View {
///     let flags: ObservedSession
///     var body: some View {
///         Text("Buy").tint(color(flags[Flags.checkoutColor]))
///     }
/// }
/// // Once, in the view that owns it:
/// .task { await flags.follow() }
/// ```
///
/// Reads are those of the session: they never wait, and the first one that reveals the variation of an experiment records an
/// exposure. A view's body is evaluated when the view is about to be seen, which is what an exposure means.
@MainActor
public final class ObservedSession: Observable {
    private enum Source {
        case session(UserSession)
        case fixed([String: FlagValue])
    }

    private var source: Source
    private let registrar = ObservationRegistrar()
    /// What each flag was when it was last read, by key.
    private var seen: [String: FlagValue] = [:]

    /// Watches a session; nothing is announced before ``follow()``.
    public init(_ session: UserSession) { source = .session(session) }

    /// Flags with fixed values and no session behind them, for previews and tests.
    ///
    /// A flag that isn't named, or is of another type, reads as its default.
    public init(fixed values: [String: FlagValue]) { source = .fixed(values) }

    /// Announces changes until the session ends or the task is cancelled; returns at once where values are fixed.
    ///
    /// What has changed since it was read is announced first.
    public func follow() async {
        guard case .session(let session) = source else { return }
        let changes = session.changes
        for (key, value) in seen where current(key) != value { announce(key) }
        for await change in changes {
            for key in change.flags where seen[key] != nil { announce(key) }
        }
    }

    /// Gives a flag another fixed value; where there is a session, nothing changes.
    public func set(_ key: String, to value: FlagValue?) {
        guard case .fixed(var values) = source, values[key] != value else { return }
        values[key] = value
        source = .fixed(values)
        announce(key)
    }

    // MARK: Reading

    /// The Boolean value of a flag, or its default.
    public subscript(flag: FlagKey<Bool>) -> Bool {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0.boolValue
        } ?? flag.defaultValue
    }
    /// The whole-number value of a flag, or its default.
    public subscript(flag: FlagKey<Int>) -> Int {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0.intValue
        } ?? flag.defaultValue
    }
    /// The numeric value of a flag, or its default.
    public subscript(flag: FlagKey<Double>) -> Double {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0.doubleValue
        } ?? flag.defaultValue
    }
    /// The text value of a flag, or its default.
    public subscript(flag: FlagKey<String>) -> String {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0.stringValue
        } ?? flag.defaultValue
    }
    /// The object or list value of a flag, or its default.
    public subscript(flag: FlagKey<FlagValue>) -> FlagValue {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0
        } ?? flag.defaultValue
    }
    /// The value of a flag as an application's type, or its default.
    public subscript<Value: Decodable & Sendable>(flag: FlagKey<Value>) -> Value {
        read(flag.key) {
            $0[flag]
        } fixed: {
            try? $0.decoded(as: Value.self)
        } ?? flag.defaultValue
    }

    private func read<Value>(
        _ key: String,
        _ ofSession: (UserSession) -> Value,
        fixed: (FlagValue) -> Value?
    ) -> Value? {
        registrar.access(self, keyPath: \.[place: key])
        seen[key] = current(key)
        return switch source {
        case .session(let session): ofSession(session)
        case .fixed(let values): values[key].flatMap(fixed)
        }
    }

    // MARK: Announcing

    /// A key path of its own for each flag, so that one flag's change concerns those alone who read it.
    private subscript(place key: String) -> FlagValue { current(key) }

    private func current(_ key: String) -> FlagValue {
        switch source {
        case .session(let session): session.decisions[key]?.value ?? .null
        case .fixed(let values): values[key] ?? .null
        }
    }

    private func announce(_ key: String) {
        // Observers ask again once the value has changed, which it has.
        registrar.withMutation(of: self, keyPath: \.[place: key]) { seen[key] = current(key) }
    }
}
