import Experimentation
import Observation

/// A session for SwiftUI: a view that reads a flag is redrawn when that flag's value changes, and only then.
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
/// Reads are the session's own: they never wait, and the first one that reveals a variation records an exposure.
/// SwiftUI evaluates a view's body when the view is about to appear, which matches the meaning of an exposure.
@MainActor
public final class ObservedSession: Observable {
    private enum Source {
        case session(UserSession)
        case fixed([String: FlagValue])
    }

    private var source: Source
    private let registrar = ObservationRegistrar()
    /// The values of a flag that were read since its last change was reported, by key: only the first two, because one
    /// of two different values is outdated whatever the current value is.
    private(set) var seen: [ExactText: [FlagValue]] = [:]

    /// Creates an observable session; call ``follow()`` to observe changes.
    public init(_ session: UserSession) { source = .session(session) }

    /// Creates flags with fixed values and no session, for previews and tests.
    ///
    /// A missing flag, or one of another type, reads as its default.
    public init(fixed values: [String: FlagValue]) { source = .fixed(values) }

    /// Observes the session until it ends or the task is cancelled; returns at once if values are fixed.
    ///
    /// Changes since the last read are reported first.
    public func follow() async {
        guard case .session(let session) = source else { return }
        let changes = session.changes
        for key in seen.keys where isOutdated(key) { announce(key) }
        for await change in changes {
            for key in seen.keys where change.flags.contains(key.text) && isOutdated(key) { announce(key) }
        }
    }

    /// Changes a fixed value; does nothing if there is a session.
    public func set(_ key: String, to value: FlagValue?) {
        guard case .fixed(var values) = source, values[key] != value else { return }
        values[key] = value
        source = .fixed(values)
        announce(ExactText(key))
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
    /// The integer value of a flag, or its default.
    public subscript(flag: FlagKey<Int>) -> Int {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0.intValue
        } ?? flag.defaultValue
    }
    /// The floating-point value of a flag, or its default.
    public subscript(flag: FlagKey<Double>) -> Double {
        read(flag.key) {
            $0[flag]
        } fixed: {
            $0.doubleValue
        } ?? flag.defaultValue
    }
    /// The string value of a flag, or its default.
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
        } fixed: { value in
            switch value {
            case .object, .array: value
            // Spelled out: a plain `nil` would be the value null.
            default: FlagValue?.none
            }
        } ?? flag.defaultValue
    }
    /// The value of a flag decoded as an application's type, or its default.
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
        let place = ExactText(key)
        registrar.access(self, keyPath: \.[place: place])
        // Noted before and after, because the value may change in between.
        note(place)
        defer { note(place) }
        return switch source {
        case .session(let session): ofSession(session)
        case .fixed(let values): values[key].flatMap { $0 == .null ? nil : fixed($0) }
        }
    }

    // MARK: Observation

    /// A key path for each flag, so that a change affects only the views that read it.
    private subscript(place key: ExactText) -> FlagValue { current(key) }

    private func current(_ key: ExactText) -> FlagValue {
        switch source {
        case .session(let session): session.flagOverride(of: key.text) ?? session.decisions[key.text]?.value ?? .null
        case .fixed(let values): values[key.text] ?? .null
        }
    }

    private func note(_ key: ExactText) {
        let value = current(key)
        let values = seen[key, default: []]
        if values.count < 2, !values.contains(value) { seen[key] = values + [value] }
    }

    /// Whether a value was read that is no longer the current one.
    private func isOutdated(_ key: ExactText) -> Bool {
        guard let values = seen[key] else { return false }
        let value = current(key)
        return values.contains { $0 != value }
    }

    private func announce(_ key: ExactText) {
        // The value has already changed, so observers that read it again at once get the new one.
        seen[key] = nil
        registrar.withMutation(of: self, keyPath: \.[place: key]) {}
    }
}
