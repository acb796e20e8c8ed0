import AdapterKit
import Experimentation

extension EvaluationContext {
    /// The request body; identical bytes for the same user and attributes.
    var ofrepQuestion: [UInt8] {
        get throws(ExperimentationError) {
            var members = user.attributes.values
            let id = user.id.isEmpty ? user.anonymousID ?? "" : user.id
            members["targetingKey"] = .string(id)
            return try JSON.encode(["context": .object(members)])
        }
    }
}

extension OFREPEvaluation {
    /// The evaluation as neutral decisions.
    var decisions: Decisions { Decisions(flags: items.map { (key: $0.key, resolution: $0.resolution) }) }
}

extension OFREPEvaluation.Item {
    /// The item as a resolution without a type, since the protocol declares none.
    var resolution: Resolution {
        if let errorCode { return Self.failure(errorCode) }
        let reason = reason.flatMap { $0.isEmpty ? nil : Reason(rawValue: $0) } ?? .unknown
        // The item is an error but has no code.
        if reason == .error { return Self.failure("") }
        return Resolution(value ?? .null, variant: variant, reason: reason, metadata: metadata)
    }

    /// The resolution of a failure code.
    ///
    /// Leaves out the server's message: it may repeat the user's data.
    private static func failure(_ code: String) -> Resolution {
        switch code {
        case "FLAG_NOT_FOUND": .unreadable(.flagNotFound, "The server doesn't know the flag.")
        case "PARSE_ERROR": .unreadable(.parseError, "The server can't read the flag's definition.")
        case "TARGETING_KEY_MISSING": .unreadable(.targetingKeyMissing, "The server misses the user's id.")
        case "INVALID_CONTEXT": .unreadable(.invalidContext, "The server rejects the user's attributes.")
        case "TYPE_MISMATCH": .unreadable(.typeMismatch, "The server reports a value of another type.")
        default: .unreadable(.general, "The server can't evaluate the flag.")
        }
    }
}

/// Translates events; pure.
enum OFREPTranslation {
    /// An event as this project's gateway accepts it, by `docs/schemas/gateway-events.schema.json`.
    ///
    /// - Throws: `ErrorCode.invalidArgument` for values that JSON can't represent.
    static func event(_ envelope: Envelope) throws(ExperimentationError) -> FlagValue {
        var members = try EventForm.value(of: envelope).objectValue ?? [:]
        // The gateway counts sessions by itself, and has no screens.
        for name in ["session", "surface", "campaignTargets"] { members[name] = nil }
        return .object(members)
    }
}
