import Experimentation

/// A visitor's context as the application sets it; pure.
struct FlagshipContextStore: Sendable, Hashable {
    private(set) var values: [String: FlagValue]

    /// Creates a context without the values that the vendor has no type for; ``rejected`` returns their names.
    init(_ values: [String: FlagValue] = [:]) {
        self.values = values.filter { FlagshipTranslation.isContextValue($0.value) }
    }

    /// Returns the names of the values that the vendor has no type for, sorted.
    static func rejected(_ values: [String: FlagValue]) -> [String] {
        values.filter { !FlagshipTranslation.isContextValue($0.value) }.keys.sorted()
    }

    /// Sets values; those that the vendor has no type for are left out, the others take effect.
    ///
    /// - Returns: Whether anything changed.
    mutating func update(_ values: [String: FlagValue]) -> Bool {
        let before = self.values
        for (name, value) in values where FlagshipTranslation.isContextValue(value) { self.values[name] = value }
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
