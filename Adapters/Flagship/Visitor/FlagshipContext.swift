import Experimentation

/// Which values an application may set in a visitor's context; pure.
enum FlagshipContext {
    /// Returns values without those that there are ``objections(to:of:)`` to.
    static func usable(_ values: [String: FlagValue]) -> [String: FlagValue] {
        values.filter { objection(to: $0.value, named: $0.key) == nil }
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
}
