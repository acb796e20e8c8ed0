import AdapterKit
import Experimentation
import FlagManifest

/// Every outcome of every flag of a catalogue as OFREP writes it, with a digest of the text.
///
/// Rules are shared by all users, so each text is written once and copied from then on, and an entity tag is made of the
/// digests without building a body.
final class FlagForms: Sendable {
    /// One outcome, written.
    struct Form: Sendable {
        /// The item of a bulk evaluation, which is also the body of a single one.
        let text: [UInt8]
        /// Whether it is a failure, so that a single evaluation answers 400.
        let isFailure: Bool
        /// What the text adds to an entity tag.
        let mark: EntityTag.Mark
    }

    /// What was written.
    let catalogue: FlagCatalogue
    /// The declared type of each flag.
    let types: [FlagType?]
    private let forms: [[Form]]

    /// Writes a catalogue.
    ///
    /// - Parameters:
    ///   - catalogue: The flags.
    ///   - types: What is known of their types.
    ///   - reason: What is said in the place of each outcome's reason; `nil` for the reason itself.
    init(_ catalogue: FlagCatalogue, types declared: DeclaredTypes, reason: Reason? = nil) {
        self.catalogue = catalogue
        var types: [FlagType?] = []
        forms = catalogue.keys.indices.map { flag in
            let key = catalogue.keys[flag]
            let outcomes = (0..<catalogue.outcomeCount(ofFlag: flag)).compactMap {
                catalogue.resolution(ofFlag: flag, outcome: $0)
            }
            let type = declared.type(of: key, values: outcomes.map(\.value))
            types.append(type)
            return outcomes.map { Self.form(key, $0, type, reason) }
        }
        self.types = types
    }

    /// One outcome of a flag.
    func form(ofFlag flag: Int, outcome: Int) -> Form { forms[flag][outcome] }

    /// The outcomes that were decided for a user, in the catalogue's order.
    func chosen(by decisions: Decisions) -> [Form] {
        catalogue.keys.indices.compactMap { flag in
            decisions.outcome(ofFlag: flag).map { forms[flag][$0] }
        }
    }

    /// Writes one outcome.
    static func form(_ key: String, _ resolution: Resolution, _ type: FlagType?, _ reason: Reason?) -> Form {
        let text = AnswerForms.bytes(of: document(key, resolution, type, reason))
        return Form(text: text, isFailure: resolution.error != nil, mark: EntityTag.Mark(of: text))
    }

    private static func document(
        _ key: String,
        _ resolution: Resolution,
        _ type: FlagType?,
        _ reason: Reason?
    ) -> FlagValue {
        var members: [String: FlagValue] = ["key": .string(key)]
        let metadata = flat(resolution.metadata)
        if !metadata.isEmpty { members["metadata"] = .object(metadata) }
        if let error = resolution.error {
            let code: ProtocolError.Code = error == .parseError ? .parseError : .general
            members["errorCode"] = .string(code.rawValue)
            members["errorDetails"] = .string(resolution.errorMessage ?? "The flag can't be read.")
            return .object(members)
        }
        // A client fails without a variant; where the vendor has no name for the value, the text is empty.
        members["variant"] = .string(resolution.variant ?? "")
        if resolution.value == .null {
            // No value at all has the caller use its own.
            let isDisabled = resolution.reason == .disabled
            members["reason"] = .string((reason ?? (isDisabled ? .disabled : .default)).rawValue)
        } else {
            members["reason"] = .string(standard(reason ?? resolution.reason).rawValue)
            members["value"] = type?.written(resolution.value) ?? resolution.value
        }
        return .object(members)
    }

    private static let standardReasons: Set<Reason> = [
        .static, .default, .targetingMatch, .split, .cached, .disabled, .stale, .unknown,
    ]

    /// A reason that every client knows; one of them takes any other for an error.
    private static func standard(_ reason: Reason) -> Reason { standardReasons.contains(reason) ? reason : .unknown }

    /// Metadata as the protocol has it: texts, numbers and Booleans; what is nested is written as text.
    private static func flat(_ metadata: [String: FlagValue]) -> [String: FlagValue] {
        metadata.compactMapValues { value in
            switch value {
            case .null: nil
            case .bool, .int, .double, .string: value
            case .array, .object: .string(String(decoding: AnswerForms.bytes(of: value), as: UTF8.self))
            }
        }
    }
}
