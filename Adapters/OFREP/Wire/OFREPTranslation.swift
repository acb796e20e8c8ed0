import AdapterKit
import Experimentation

extension EvaluationContext {
    /// The body of a question; the same bytes for the same user and attributes.
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
    /// The same in neutral words.
    var decisions: Decisions { Decisions(flags: items.map { (key: $0.key, resolution: $0.resolution) }) }
}

extension OFREPEvaluation.Item {
    /// What the item says of its flag, before anybody asks for a type: the protocol declares none.
    var resolution: Resolution {
        if let errorCode { return Self.failure(errorCode) }
        let reason = reason.flatMap { $0.isEmpty ? nil : Reason(rawValue: $0) } ?? .unknown
        // A failure that has lost its code.
        if reason == .error { return Self.failure("") }
        return Resolution(value ?? .null, variant: variant, reason: reason, metadata: metadata)
    }

    /// A failure by its code.
    ///
    /// What the server says beside it stays where it is: it may repeat the user's data.
    private static func failure(_ code: String) -> Resolution {
        switch code {
        case "FLAG_NOT_FOUND": .unreadable(.flagNotFound, "The server doesn't know the flag.")
        case "PARSE_ERROR": .unreadable(.parseError, "The server can't read the flag's definition.")
        case "TARGETING_KEY_MISSING": .unreadable(.targetingKeyMissing, "The server misses the user's id.")
        case "INVALID_CONTEXT": .unreadable(.invalidContext, "The server can't use the user's attributes.")
        case "TYPE_MISMATCH": .unreadable(.typeMismatch, "The server finds a value of another type.")
        default: .unreadable(.general, "The server can't evaluate the flag.")
        }
    }
}
