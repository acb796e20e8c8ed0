import Experimentation

/// A visitor's context as the application sets it; pure.
struct FlagshipContextStore: Sendable, Hashable {
    private(set) var values: [String: FlagValue]

    /// Creates a context without the values that there are ``objections(to:of:)`` to.
    init(_ values: [String: FlagValue] = [:]) {
        self.values = values.filter { Self.objection(to: $0.value, named: $0.key) == nil }
    }

    /// Returns why values can't be set, sorted by their names; there is none to the visitor's own id, as in a context that
    /// was read from them.
    static func objections(to values: [String: FlagValue], of visitorID: String) -> [String] {
        values.filter { $0.key != FlagshipContextKey.users || $0.value != .string(visitorID) }
            .sorted { $0.key < $1.key }.compactMap { objection(to: $0.value, named: $0.key) }
    }

    private static func objection(to value: FlagValue, named name: String) -> String? {
        if name == FlagshipContextKey.users { return "\(name) is always the visitor's id; another value is left out" }
        if FlagshipTranslation.isContextValue(value) { return nil }
        return "\(name) is of a type that Flagship has no word for; it is left out"
    }

    /// Sets values; those that there are ``objections(to:of:)`` to are left out, the others take effect.
    ///
    /// - Returns: Whether anything changed.
    mutating func update(_ values: [String: FlagValue]) -> Bool {
        let before = self.values
        self.values.merge(Self(values).values) { $1 }
        return before != self.values
    }

    /// Removes everything.
    ///
    /// - Returns: Whether anything changed.
    mutating func clear() -> Bool {
        let before = values
        values = [:]
        return !before.isEmpty
    }
}
