import Experimentation
import Logging

/// The attributes of an event; a pure function of the event and the options.
struct EventAttributes: Sendable, Equatable {
    /// An attribute with its value.
    struct Field: Sendable, Equatable {
        let name: String
        let value: FlagValue
    }

    private(set) var fields: [Field] = []

    /// Creates the attributes of an evaluation.
    ///
    /// - Parameters:
    ///   - details: The evaluation's result.
    ///   - provider: The provider's name.
    ///   - targetingKey: The user's id.
    ///   - options: Which attributes are sent, and how.
    init(
        of details: EvaluationDetails<FlagValue>,
        by provider: String,
        for targetingKey: String,
        _ options: TelemetryOptions
    ) {
        for attribute in FlagAttribute.all {
            guard let value = Self.value(attribute.content, details, provider, targetingKey, options) else { continue }
            add(attribute.name(options.names), value, options, isRequired: attribute.level == .required)
        }
        guard let mapper = options.attributeMapper else { return }
        for (name, value) in mapper(details).sorted(by: { $0.key < $1.key }) { add(name, value, options) }
    }

    /// Creates the attributes of an exposure.
    init(of exposure: Exposure, of user: User, by provider: String, _ options: TelemetryOptions) {
        let assignment = exposure.assignment
        let key = user.id.isEmpty ? user.anonymousID ?? "" : user.id
        let told: [(String, String?)] = [
            ("experimentation.experiment.id", assignment.experiment.id),
            ("experimentation.variation.id", assignment.variation.id),
            ("feature_flag.key", exposure.flagKey),
            ("feature_flag.provider.name", provider),
            ("feature_flag.context.id", options.ids.shown(key)),
        ]
        for (name, value) in told { if let value { add(name, .string(value), options) } }
    }

    private static func value(
        _ content: FlagAttribute.Content,
        _ details: EvaluationDetails<FlagValue>,
        _ provider: String,
        _ targetingKey: String,
        _ options: TelemetryOptions
    ) -> FlagValue? {
        func text(_ value: String?) -> FlagValue? { value.flatMap { $0.isEmpty ? FlagValue?.none : .string($0) } }
        func said(_ name: String) -> String? {
            switch details.metadata[name] {
            case .string(let text)?: text
            case .int(let number)?: String(number)
            default: nil
            }
        }
        switch content {
        case .key: return .string(details.flagKey)
        case .variant: return text(details.variant)
        case .value:  // A bare `nil` would be the flag value that is called so.
            return details.variant == nil || options.includesValues ? details.value : FlagValue?.none
        case .errorType: return text(details.errorCode?.rawValue.lowercased())
        case .errorMessage: return details.errorCode == nil ? nil : text(details.errorMessage)
        case .reason: return text(details.reason.rawValue.lowercased())
        case .provider: return text(provider)
        case .user: return text(options.ids.shown(said("contextId") ?? targetingKey))
        case .flagSet: return text(said("flagSetId"))
        case .version: return text(said("version"))
        }
    }

    private mutating func add(
        _ name: String,
        _ value: FlagValue,
        _ options: TelemetryOptions,
        isRequired: Bool = false
    ) {
        guard isRequired || !options.excludedAttributes.contains(name), fields.count < options.attributeLimit,
            !name.isEmpty, !fields.contains(where: { $0.name == name })
        else { return }
        fields.append(Field(name: name, value: value.limited(to: options.characterLimit)))
    }

    /// The attributes as swift-log's metadata, including the event's name, for which swift-log has no field.
    func metadata(of event: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        for field in fields { metadata[field.name] = .stringConvertible(field.value.scalar) }
        // Last, because an application's attribute may have this name.
        metadata["event.name"] = .string(event)
        return metadata
    }
}

extension FlagValue {
    /// The value as sent: scalars unchanged, objects and lists as JSON, strings truncated.
    fileprivate func limited(to limit: Int) -> FlagValue {
        switch self {
        case .null: .string("null")
        case .bool, .int, .double: self
        case .string(let text): .string(OneLine.of(text.cut(to: limit)))
        case .array, .object: .string(OneLine.of(written.cut(to: limit)))
        }
    }

    private var written: String {
        var writer = JSONWriter(.exact)
        do { try writer.value(self) } catch { return "…" }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The value as a scalar for swift-log.
    fileprivate var scalar: any CustomStringConvertible & Sendable {
        switch self {
        case .bool(let value): value
        case .int(let value): value
        case .double(let value): value
        case .string(let text): text
        default: description
        }
    }
}

extension String {
    /// Truncates the string, with `…` at the end.
    fileprivate func cut(to limit: Int) -> String {
        // Truncates by scalars, not by characters: a character may have thousands of combining marks.
        let scalars = unicodeScalars
        guard utf8.count > limit,
            let end = scalars.index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex
        else { return self }
        return String(scalars[..<end]) + "…"
    }
}
