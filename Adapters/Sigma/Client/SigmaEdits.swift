/// Changes to a dictionary that can be applied to whatever is stored.
///
/// Of several changes to the same entry only the last is kept, so that the changes take no more room than their result.
struct SigmaEdits<Value: Sendable>: Sendable {
    private var replacesAll = false
    /// The new values by key; `nil` for a removed entry.
    private var entries: [String: Value?] = [:]

    var isEmpty: Bool { !replacesAll && entries.isEmpty }

    /// Sets entries, or removes those without a value.
    mutating func set(_ values: [String: Value?]) { entries.merge(values) { $1 } }

    mutating func replaceAll(with values: [String: Value]) {
        (replacesAll, entries) = (true, values.mapValues { $0 })
    }

    func applied(to values: [String: Value]) -> [String: Value] {
        var values = replacesAll ? [:] : values
        for (key, value) in entries {
            if let value { values.updateValue(value, forKey: key) } else { values.removeValue(forKey: key) }
        }
        return values
    }
}
