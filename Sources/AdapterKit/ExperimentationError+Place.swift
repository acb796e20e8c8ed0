import Experimentation

extension ExperimentationError {
    /// Returns this error with the document that it concerns in front of its message, as in `shop.json: expected …`.
    ///
    /// - Parameters:
    ///   - document: A file's name, or words like "the answer".
    ///   - code: The code of the new error; `nil` for this error's.
    /// - Returns: The error, with the same cause.
    public func about(_ document: String, as code: ErrorCode? = nil) -> ExperimentationError {
        ExperimentationError(code ?? self.code, "\(document): \(message)", cause: cause)
    }
}
