import Experimentation

/// Compares two vendors' answers for a flag.
public enum FlagComparison {
    /// Whether two values are deeply equal, with numbers compared without loss: `1` equals `1.0`.
    public static func areEqual(_ one: FlagValue?, _ two: FlagValue?) -> Bool {
        switch (one ?? .null, two ?? .null) {
        case (.null, .null): true
        case (.bool(let one), .bool(let two)): one == two
        case (.string(let one), .string(let two)): one.utf8.elementsEqual(two.utf8)
        case (.int(let one), .int(let two)): one == two
        case (.double(let one), .double(let two)): one == two
        case (.int(let whole), .double(let number)), (.double(let number), .int(let whole)):
            Int(exactly: number) == whole
        case (.array(let one), .array(let two)):
            one.count == two.count && zip(one, two).allSatisfy { areEqual($0, $1) }
        case (.object(let one), .object(let two)):
            one.count == two.count && one.allSatisfy { key, value in two[key].map { areEqual(value, $0) } ?? false }
        default: false
        }
    }

    /// Returns the name of a value's type; whole numbers and fractions share one.
    public static func type(of value: FlagValue?) -> String {
        switch value ?? .null {
        case .null: "null"
        case .bool: "boolean"
        case .int, .double: "number"
        case .string: "string"
        case .array: "list"
        case .object: "object"
        }
    }

    /// Returns how two answers differ.
    ///
    /// - Parameters:
    ///   - old: The old vendor's answer.
    ///   - new: The new vendor's answer.
    ///   - areSameVariant: Whether the mapping treats two variants as the same.
    /// - Returns: The first difference in the order of ``Mismatch/Kind``; `nil` if there is none.
    public static func difference(
        _ old: Mismatch.Answer,
        _ new: Mismatch.Answer,
        areSameVariant: (String?, String?) -> Bool = { $0 == $1 }
    ) -> Mismatch.Kind? {
        if old.failure == .timeout || new.failure == .timeout { return .late }
        if old.failure != nil || new.failure != nil { return .error }
        guard let one = old.resolution, let two = new.resolution else {
            return old.resolution == nil && new.resolution == nil ? nil : .missing
        }
        if one.error != two.error { return .error }
        // A null value leaves the flag to the caller's default and so differs from every other value, whatever its
        // type.
        let isGiven = one.value != .null && two.value != .null
        if isGiven, type(of: one.value) != type(of: two.value) { return .type }
        if !areEqual(one.value, two.value) { return .value }
        if !areSameVariant(one.variant, two.variant) { return .variant }
        return one.reason == two.reason ? nil : .reason
    }
}
