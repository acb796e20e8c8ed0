import Synchronization

/// Flag values that this process substitutes for the vendor's, looked up only while there are any.
final class FlagOverrides: Sendable {
    private let values = Mutex<[ExactText: FlagValue]>([:])
    private let count = Atomic<Int>(0)

    /// Whether there are none; costs one load.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// The values by key; only one of two whose keys are equal by the rules of Unicode.
    var all: [String: FlagValue] {
        let all = values.withLock { $0 }
        return Dictionary(all.map { ($0.key.text, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The value of one flag, or `nil`.
    subscript(key: String) -> FlagValue? { isEmpty ? nil : values.withLock { $0[ExactText(key)] } }

    /// Sets or, with `nil`, removes a value.
    func set(_ value: FlagValue?, for key: String) {
        values.withLock { values in
            values[ExactText(key)] = value
            count.store(values.count, ordering: .relaxed)
        }
    }

    /// Removes all.
    func removeAll() {
        values.withLock { values in
            values = [:]
            count.store(0, ordering: .relaxed)
        }
    }
}

extension FlagReader {
    /// Returns a value that overrides the vendor's, with its reason and without an exposure.
    static func overridden<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        by value: FlagValue
    ) -> FlagReading<Value> {
        guard let read = Value.read(value) else {
            return failure(key, defaultValue, .typeMismatch, "The value that overrides the flag is of another type.")
        }
        return FlagReading(
            details: EvaluationDetails(flagKey: key, value: read, reason: .localOverride),
            place: -1
        )
    }
}
