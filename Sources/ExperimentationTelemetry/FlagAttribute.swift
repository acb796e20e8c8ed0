/// An attribute of the event `feature_flag.evaluation`, as OpenTelemetry's semantic conventions v1.44.0 have it.
///
/// What is sent follows from ``all``, the one table of names and levels.
public struct FlagAttribute: Sendable, Hashable {
    /// How much an attribute is asked for.
    public enum Level: String, Sendable, Hashable, Codable {
        /// Always.
        case required
        /// Wherever its condition holds.
        case conditionallyRequired = "conditionally_required"
        /// Unless there is a reason not to.
        case recommended
    }

    /// What an attribute tells.
    public enum Content: String, Sendable, Hashable, Codable, CaseIterable {
        /// The flag's key.
        case key
        /// The vendor's name for the value.
        case variant
        /// The value; sent where there is no variant, otherwise only if ``TelemetryOptions/includesValues`` says so.
        case value
        /// The code of what went wrong, in lower case.
        case errorType
        /// What went wrong, for a person.
        case errorMessage
        /// Why the value is what it is, in lower case.
        case reason
        /// The provider's name.
        case provider
        /// The user, as ``TelemetryOptions/ids`` has it.
        case user
        /// The set of flags that this one is of, if the vendor's metadata says so.
        case flagSet
        /// The version of the rules, if the vendor's metadata says so.
        case version
    }

    /// Which names are used.
    public enum Names: String, Sendable, Hashable, CaseIterable {
        /// Those of v1.44.0.
        case current
        /// Those before v1.40.0, when the message of an error was `error.message`.
        case beforeV1_40
        /// Those before v1.32.0, which are deprecated.
        case deprecated
    }

    /// What it tells.
    public let content: Content
    /// Its name.
    public let name: String
    /// How much it is asked for.
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

    /// Its name by one of the conventions.
    public func name(_ names: Names) -> String {
        switch names {
        case .current: name
        case .beforeV1_40: nameBeforeV1_40 ?? name
        case .deprecated: deprecatedName ?? nameBeforeV1_40 ?? name
        }
    }

    /// The name of the event.
    public static let event = "feature_flag.evaluation"

    /// All attributes, in the order in which they are sent.
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
