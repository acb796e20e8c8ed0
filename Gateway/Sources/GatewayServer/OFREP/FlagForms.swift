import AdapterKit
import Experimentation
import FlagManifest
import GatewayBodies
import NIOCore

/// Every outcome of every flag in a catalogue, as OFREP JSON with a digest of the text.
///
/// Rulesets are shared by all users, so each text is encoded once and copied afterwards, and entity tags are computed
/// from the digests without building a body.
final class FlagForms: Sendable {
    /// An encoded outcome.
    struct Form: Sendable {
        /// The item of a bulk evaluation, which is also the body of a single evaluation.
        var text: ByteBuffer
        /// Why the outcome is a failure, which determines the status of a single evaluation; `nil` if it isn't one.
        let failure: ProtocolError.Code?
        /// The text's contribution to an entity tag.
        let mark: EntityTag.Mark

        var isFailure: Bool { failure != nil }
    }

    /// The encoded catalogue.
    let catalogue: FlagCatalogue
    /// The declared type of each flag.
    let types: [FlagType?]
    /// The outcomes of all flags, with each flag's outcomes next to each other.
    private let forms: [Form]
    /// Where each flag's outcomes begin.
    private let starts: [Int]

    /// Encodes a catalogue.
    ///
    /// - Parameters:
    ///   - catalogue: The flags.
    ///   - declared: The known types.
    ///   - reason: Replaces the reason of each outcome; `nil` to keep it.
    init(_ catalogue: FlagCatalogue, types declared: DeclaredTypes, reason: Reason? = nil) {
        self.catalogue = catalogue
        var types: [FlagType?] = []
        var forms: [Form] = []
        var starts: [Int] = []
        for flag in catalogue.keys.indices {
            let key = catalogue.keys[flag]
            let outcomes = (0..<catalogue.outcomeCount(ofFlag: flag)).compactMap {
                catalogue.resolution(ofFlag: flag, outcome: $0)
            }
            let type = declared.type(of: key, values: outcomes.map(\.value))
            types.append(type)
            starts.append(forms.count)
            forms += outcomes.map { Self.form(key, $0, type, reason) }
        }
        self.types = types
        self.forms = Self.together(forms)
        self.starts = starts
    }

    /// The same forms with their texts in one block of memory, so that a bulk answer reads it from front to back.
    private static func together(_ forms: [Form]) -> [Form] {
        var block = ByteBuffer()
        block.reserveCapacity(forms.reduce(0) { $0 + $1.text.readableBytes })
        for form in forms { block.writeImmutableBuffer(form.text) }
        return forms.map { form in
            var form = form
            form.text = block.readSlice(length: form.text.readableBytes) ?? form.text
            return form
        }
    }

    /// An outcome of a flag.
    func form(ofFlag flag: Int, outcome: Int) -> Form { forms[starts[flag] + outcome] }

    /// The outcomes decided for a user, in the catalogue's order.
    func chosen(by decisions: Decisions) -> Chosen { Chosen(forms: self, decisions: decisions) }

    /// The outcomes decided for a user.
    struct Chosen: Sequence, IteratorProtocol {
        fileprivate let forms: FlagForms
        fileprivate let decisions: Decisions
        private var flag = 0

        fileprivate init(forms: FlagForms, decisions: Decisions) { (self.forms, self.decisions) = (forms, decisions) }

        mutating func next() -> Form? {
            while flag < forms.starts.count {
                defer { flag += 1 }
                if let outcome = decisions.outcome(ofFlag: flag) { return forms.form(ofFlag: flag, outcome: outcome) }
            }
            return nil
        }
    }

    /// Encodes an outcome.
    static func form(_ key: String, _ resolution: Resolution, _ type: FlagType?, _ reason: Reason?) -> Form {
        let text = AnswerForms.bytes(of: document(key, resolution, type, reason))
        return Form(
            text: ByteBuffer(bytes: text),
            failure: resolution.error.map(code),
            mark: EntityTag.Mark(of: text)
        )
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
            members["errorCode"] = .string(code(error).rawValue)
            members["errorDetails"] = .string(resolution.errorMessage ?? "The flag can't be read.")
            return .object(members)
        }
        // Clients fail without a variant; it is empty if the vendor has no name for the value.
        members["variant"] = .string(resolution.variant ?? "")
        if resolution.value == .null {
            // Without a value, the caller uses its own default.
            let isDisabled = resolution.reason == .disabled
            members["reason"] = .string((reason ?? (isDisabled ? .disabled : .default)).rawValue)
        } else {
            members["reason"] = .string(standard(reason ?? resolution.reason).rawValue)
            members["value"] = type?.written(resolution.value) ?? resolution.value
        }
        return .object(members)
    }

    /// The protocol's code for an error: the same as the client's code if the protocol has it.
    private static func code(_ error: ErrorCode) -> ProtocolError.Code {
        ProtocolError.Code(rawValue: error.rawValue) ?? .general
    }

    private static let standardReasons: Set<Reason> = [
        .static, .default, .targetingMatch, .split, .cached, .disabled, .stale, .unknown,
    ]

    /// Maps the reason to one that every client knows; one client treats unknown reasons as errors.
    private static func standard(_ reason: Reason) -> Reason { standardReasons.contains(reason) ? reason : .unknown }

    /// Flattens metadata to strings, numbers and Booleans, as the protocol requires; nested values become text.
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
