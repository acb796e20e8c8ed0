import Experimentation
import HTTPTypes

/// A failure as OFREP tells it.
struct ProtocolError: Error, Sendable, Equatable {
    /// The codes that the protocol has; there are no others on the wire.
    enum Code: String, Sendable {
        case parseError = "PARSE_ERROR"
        case targetingKeyMissing = "TARGETING_KEY_MISSING"
        case invalidContext = "INVALID_CONTEXT"
        case flagNotFound = "FLAG_NOT_FOUND"
        case general = "GENERAL"
    }

    var code: Code
    var details: String
    var status: HTTPResponse.Status

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - code: The protocol's code.
    ///   - details: The same for a person; clients need it to be there.
    ///   - status: The status; 400, or 404 for a flag that isn't there, unless named.
    init(_ code: Code, _ details: String, status: HTTPResponse.Status? = nil) {
        self.code = code
        self.details = details
        self.status = status ?? (code == .flagNotFound ? .notFound : .badRequest)
    }

    /// A failure of the client's, in the protocol's codes.
    ///
    /// What lies in the request is 400; what may be over in a moment is 503; a vendor without flags answers 400, because
    /// asking again can't help.
    init(_ error: ExperimentationError) {
        switch error.code {
        case .targetingKeyMissing: self.init(.targetingKeyMissing, error.message)
        case .invalidContext, .invalidArgument, .tooLarge: self.init(.invalidContext, error.message)
        case .flagNotFound: self.init(.flagNotFound, error.message)
        case .parseError: self.init(.parseError, error.message)
        case .unsupported, .consentDenied: self.init(.general, error.message)
        case .providerNotReady, .transport, .timeout, .vendorFault, .store, .outboxFull, .shutDown, .cancelled:
            self.init(.general, error.message, status: .serviceUnavailable)
        default: self.init(.general, error.message, status: .internalServerError)
        }
    }

    /// The body: two clients need both code and text, in every failure.
    ///
    /// - Parameter key: The flag's key, if one was asked for.
    func document(for key: String? = nil) -> FlagValue {
        var members: [String: FlagValue] = ["errorCode": .string(code.rawValue), "errorDetails": .string(details)]
        if let key { members["key"] = .string(key) }
        return .object(members)
    }

    /// The answer.
    ///
    /// - Parameter key: The flag's key, if one was asked for.
    func answer(for key: String? = nil) -> Answer {
        var answer = Answer.json(status, document(for: key))
        if status == .serviceUnavailable { answer.fields[.retryAfter] = "1" }
        return answer
    }
}
