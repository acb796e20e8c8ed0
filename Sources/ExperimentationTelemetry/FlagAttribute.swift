/// An attribute of the event `feature_flag.evaluation` in OpenTelemetry's semantic conventions v1.44.0.
///
/// ``all`` is the only table of names and requirement levels.
public struct FlagAttribute: Sendable, Hashable {
    /// The requirement level.
    public enum Level: String, Sendable, Hashable, Codable {
        /// Always.
        case required
        /// Whenever its condition holds.
        case conditionallyRequired = "conditionally_required"
        /// Unless there is a reason to leave it out.
        case recommended
    }

    /// What an attribute contains.
    public enum Content: String, Sendable, Hashable, Codable, CaseIterable {
        /// The flag's key.
        case key
        /// The vendor's name for the value.
        case variant
        /// The value; sent if there is no variant, otherwise only with ``TelemetryOptions/includesValues``.
        case value
        /// The error code, in lower case.
        case errorType
        /// The error message, for people.
        case errorMessage
        /// The reason for the value, in lower case.
        case reason
        /// The provider's name.
        case provider
        /// The user's id, in the form chosen by ``TelemetryOptions/ids``.
        case user
        /// The flag set, if the vendor's metadata names it.
        case flagSet
        /// The version of the rules, if the vendor's metadata names it.
        case version
    }

    /// The version of the conventions whose names are used.
    public enum Names: String, Sendable, Hashable, CaseIterable {
        /// The names of v1.44.0.
        case current
        /// The names before v1.40.0, where the error message was `error.message`.
        case beforeV1_40
        /// The names before v1.32.0, which are deprecated.
        case deprecated
    }

    /// What the attribute contains.
    public let content: Content
    /// The attribute's name in v1.44.0.
    public let name: String
    /// The requirement level.
    public let level: Level
    private let nameBeforeV1_40: String?
    private let deprecatedName: String?

    private init(
        _ content: Content,
        _ name: String,
        _ level: Level,
        beforeV1_40: String? = nil,
        deprecated: String? = nil
    ) {
        self.content = content
        self.name = name
        self.level = level
        nameBeforeV1_40 = beforeV1_40
        deprecatedName = deprecated
    }

    /// Returns the attribute's name in a version of the conventions.
    public func name(_ names: Names) -> String {
        switch names {
        case .current: name
        case .beforeV1_40: nameBeforeV1_40 ?? name
        case .deprecated: deprecatedName ?? nameBeforeV1_40 ?? name
        }
    }

    /// The event's name.
    public static let event = "feature_flag.evaluation"

    /// All attributes, in the order they are sent.
    public static let all: [FlagAttribute] = [
        FlagAttribute(.key, "feature_flag.key", .required),
        FlagAttribute(
            .variant,
            "feature_flag.result.variant",
            .conditionallyRequired,
            deprecated: "feature_flag.variant"
        ),
        FlagAttribute(.value, "feature_flag.result.value", .conditionallyRequired),
        FlagAttribute(.errorType, "error.type", .conditionallyRequired),
        FlagAttribute(
            .errorMessage,
            "feature_flag.error.message",
            .recommended,
            beforeV1_40: "error.message",
            deprecated: "feature_flag.evaluation.error.message"
        ),
        FlagAttribute(
            .reason,
            "feature_flag.result.reason",
            .recommended,
            deprecated: "feature_flag.evaluation.reason"
        ),
        FlagAttribute(
            .provider,
            "feature_flag.provider.name",
            .recommended,
            deprecated: "feature_flag.provider_name"
        ),
        FlagAttribute(.user, "feature_flag.context.id", .recommended),
        FlagAttribute(.flagSet, "feature_flag.set.id", .recommended),
        FlagAttribute(.version, "feature_flag.version", .recommended),
    ]
}
