import Experimentation

extension ExperimentationError {
    /// An error for an invalid composition.
    static func composition(_ key: String, _ reason: String) -> Self {
        ExperimentationError(.configuration, "\"\(key)\": \(reason)")
    }

    static func unknownVendor(_ name: String, in key: String, among known: [String]) -> Self {
        .composition(key, "there is no vendor \"\(name)\"; there are \(known.joined(separator: ", "))")
    }

    /// The error with a vendor's name in front.
    func of(_ name: String) -> Self { ExperimentationError(code, "\(name): \(message)", cause: cause) }
}
