import Experimentation

extension ExperimentationError {
    /// A composition that can't be.
    static func composition(_ key: String, _ reason: String) -> Self {
        ExperimentationError(.configuration, "\"\(key)\": \(reason)")
    }

    static func unknownVendor(_ name: String, in key: String, among known: [String]) -> Self {
        .composition(key, "there is no vendor \"\(name)\"; there are \(known.joined(separator: ", "))")
    }

    /// The same with the name of the vendor that it concerns.
    func of(_ name: String) -> Self { ExperimentationError(code, "\(name): \(message)", cause: cause) }
}
