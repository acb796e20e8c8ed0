import Synchronization

/// A flag's raw value, whatever its type, for callers that decode it themselves.
struct RawFlag: FlagReadable {
    let flagValue: FlagValue

    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> RawFlag? {
        let value = outcome.pointee.resolution.value
        return value == .null ? nil : RawFlag(flagValue: value)
    }

    static func read(_ value: FlagValue) -> RawFlag? { RawFlag(flagValue: value) }
}

/// Decoded values of flags, kept for as long as the raw values stay the same.
final class DecodedFlags: Sendable {
    private struct Place: Hashable {
        var key: String
        var type: ObjectIdentifier
    }

    private struct Entry {
        var raw: FlagValue
        var decoded: Result<any Sendable, ExperimentationError>
    }

    private let entries = Mutex<[Place: Entry]>([:])

    /// Returns the value as a type, decoded once; ``ErrorCode/typeMismatch`` names the part that doesn't fit.
    func value<Value: Decodable & Sendable>(
        _ key: String,
        _ raw: FlagValue,
        as type: Value.Type
    ) -> Result<Value, ExperimentationError> {
        let place = Place(key: key, type: ObjectIdentifier(type))
        let known = entries.withLock { $0[place] }
        if let known, known.raw == raw {
            switch known.decoded {
            case .success(let value as Value): return .success(value)
            case .failure(let error): return .failure(error)
            default: break
            }
        }
        let decoded = Self.decoded(raw, as: type)
        let kept: Result<any Sendable, ExperimentationError> = decoded.map { $0 as any Sendable }
        entries.withLock { $0[place] = Entry(raw: raw, decoded: kept) }
        return decoded
    }

    /// Returns the value as a type, or why it can't be.
    static func decoded<Value: Decodable & Sendable>(
        _ raw: FlagValue,
        as type: Value.Type
    ) -> Result<Value, ExperimentationError> {
        do {
            return .success(try raw.decoded(as: type))
        } catch let error as DecodingError {
            return .failure(
                ExperimentationError(.typeMismatch, "The flag's value is no \(type): \(error.placeAndReason)")
            )
        } catch {
            return .failure(ExperimentationError(.typeMismatch, "The flag's value is no \(type)."))
        }
    }
}

extension DecodingError {
    /// The coding path of the error and its reason, without the value.
    fileprivate var placeAndReason: String {
        let (keys, reason): ([any CodingKey], String) =
            switch self {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
            case .typeMismatch(_, let context): (context.codingPath, "is of another type")
            case .valueNotFound(_, let context): (context.codingPath, "is null")
            case .dataCorrupted(let context): (context.codingPath, "can't be read")
            @unknown default: ([], "can't be read")
            }
        let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }.joined(separator: ".")
        return path.isEmpty ? "it \(reason)." : "\(path) \(reason)."
    }
}

extension EvaluationDetails<RawFlag> {
    /// Returns the details with the value decoded, and whether the read reveals the flag's assignment.
    ///
    /// A value that doesn't fit reveals nothing; a value that the variation leaves to the caller does.
    func decoded<Wanted: Decodable & Sendable>(
        default defaultValue: Wanted,
        _ decode: (FlagValue) -> Result<Wanted, ExperimentationError>
    ) -> (details: EvaluationDetails<Wanted>, isRevealing: Bool) {
        var details = EvaluationDetails<Wanted>(
            flagKey: flagKey,
            value: defaultValue,
            variant: variant,
            reason: reason,
            errorCode: errorCode,
            errorMessage: errorMessage,
            metadata: metadata,
            age: age
        )
        guard errorCode == nil, value.flagValue != .null else { return (details, errorCode == nil) }
        switch decode(value.flagValue) {
        case .success(let own):
            details.value = own
            return (details, true)
        case .failure(let error):
            (details.reason, details.variant, details.age) = (.error, nil, nil)
            (details.errorCode, details.errorMessage) = (error.code, error.message)
            return (details, false)
        }
    }
}
