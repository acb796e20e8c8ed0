import Experimentation

/// The form of exposures for vendors without experiments: a custom event with a name and fields.
public struct ExposureEvent: Sendable, Hashable {
    /// The content of a field.
    public enum Content: String, Sendable, Hashable, CaseIterable {
        /// The experiment's id.
        case experiment
        /// The experiment's name.
        case experimentName
        /// The group under which sticky assignments are kept.
        case group
        /// The variation's id.
        case variation
        /// The variation's name.
        case variationName
        /// Whether the variation is the control.
        case isControl
        /// The flag that was read; missing if the exposure was recorded manually.
        case flag
        /// The vendor that decided.
        case provider
    }

    /// The event's name, in which contents in braces, such as `{experiment}`, are replaced by their values.
    ///
    /// For a vendor whose events have no fields, put the variation into the name:
    /// `experiment_viewed {experiment} {variation}`.
    public var name: String
    /// The names of fields by their content.
    public var fields: [Content: String]

    /// Creates a form.
    public init(
        name: String = "experiment_viewed",
        fields: [Content: String] = [.experiment: "experiment", .group: "group", .variation: "variation"]
    ) {
        self.name = name
        self.fields = fields
    }

    /// Returns an exposure in this form.
    func event(for exposure: Exposure) -> TrackingEvent {
        var attributes = Attributes()
        for (content, name) in fields { attributes[name] = value(content, of: exposure) }
        return .custom(name(for: exposure), attributes: attributes)
    }

    private func name(for exposure: Exposure) -> String {
        guard name.contains("{") else { return name }
        return Content.allCases.reduce(name) { name, content in
            name.replacing("{\(content.rawValue)}", with: text(content, of: exposure))
        }
    }

    private func text(_ content: Content, of exposure: Exposure) -> String {
        switch value(content, of: exposure) {
        case .string(let text)?: text
        case .bool(let isSo)?: isSo ? "true" : "false"
        default: ""
        }
    }

    private func value(_ content: Content, of exposure: Exposure) -> FlagValue? {
        let assignment = exposure.assignment
        return switch content {
        case .experiment: .string(assignment.experiment.id)
        case .experimentName: .string(assignment.experiment.name)
        case .group: .string(assignment.group)
        case .variation: .string(assignment.variation.id)
        case .variationName: .string(assignment.variation.name)
        case .isControl: .bool(assignment.variation.isControl)
        case .flag: exposure.flagKey.map { .string($0) }
        case .provider: assignment.provider.map { .string($0) }
        }
    }

    func validate() throws(ExperimentationError) {
        if name.isEmpty { throw .composition("exposures.event", "the event needs a name") }
        if Set(fields.values).count < fields.count || fields.values.contains("") {
            throw .composition("exposures.fields", "each field needs a name of its own")
        }
    }
}

extension Assignment {
    /// The vendor that decided, from the metadata.
    var provider: String? { part }

    /// The assignment as the vendor returned it.
    var asGiven: Assignment {
        var copy = self
        copy.metadata[Answerer.key] = nil
        return copy
    }

    func decided(by provider: String) -> Assignment {
        var copy = self
        copy.metadata[Answerer.key] = .string(provider)
        return copy
    }
}
