import Experimentation

/// The meaning of a status for anything but a delivery: decisions, rules, tokens, profiles.
///
/// The counterpart of ``DeliveryVerdict``. Where a vendor means something else by a status, its adapter says so in its
/// README.
public enum ReadFailure {
    /// Returns the code of a status; `nil` for a success.
    ///
    /// | Status | Code |
    /// |---|---|
    /// | 200–299 | – |
    /// | 401, 403 | `UNAUTHORIZED` |
    /// | 404 | `CONFIGURATION`: the address or the account is wrong |
    /// | 408, 504 | `TIMEOUT` |
    /// | 413, 431 | `TOO_LARGE` |
    /// | anything else | `VENDOR_FAULT` |
    public static func code(of status: Int) -> ErrorCode? {
        switch status {
        case 200...299: nil
        case 401, 403: .unauthorized
        case 404: .configuration
        case 408, 504: .timeout
        case 413, 431: .tooLarge
        default: .vendorFault
        }
    }

    /// Returns the error for a status; `nil` for a success.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - vendor: Who answered, for the message.
    ///   - what: What was requested, for the message.
    /// - Returns: The error, with a ``RefusingStatus`` as its cause, or `nil`.
    public static func of(status: Int, from vendor: String, asking what: String) -> ExperimentationError? {
        guard let code = code(of: status) else { return nil }
        let message =
            switch code {
            case .unauthorized: "\(vendor) refused the credentials (\(status)) when asked for \(what)"
            case .configuration: "\(vendor) doesn't know this address or account (\(status)): \(what)"
            case .timeout: "\(vendor) took too long for \(what) (\(status))"
            case .tooLarge: "\(vendor) found the request too large (\(status)): \(what)"
            default: "\(vendor) answered \(status) when asked for \(what)"
            }
        return ExperimentationError(code, message, cause: RefusingStatus(status))
    }
}
