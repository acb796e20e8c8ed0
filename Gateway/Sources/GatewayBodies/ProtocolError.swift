import AdapterKit
import Experimentation
import HTTPTypes

/// An error in OFREP's format.
package struct ProtocolError: Error, Sendable, Equatable {
    /// The protocol's codes; no others are sent.
    package enum Code: String, Sendable {
        case parseError = "PARSE_ERROR"
        case targetingKeyMissing = "TARGETING_KEY_MISSING"
        case invalidContext = "INVALID_CONTEXT"
        case flagNotFound = "FLAG_NOT_FOUND"
        case general = "GENERAL"

        /// The status of a refusal for which no other is given.
        package var status: HTTPResponse.Status { self == .flagNotFound ? .notFound : .badRequest }
    }

    package var code: Code
    package var details: String
    package var status: HTTPResponse.Status

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The protocol's code.
    ///   - details: The message; clients require it.
    ///   - status: The status; by default 404 for a missing flag, else 400.
    package init(_ code: Code, _ details: String, status: HTTPResponse.Status? = nil) {
        self.code = code
        self.details = details
        self.status = status ?? code.status
    }

    /// Translates an error of the client to the protocol's codes.
    ///
    /// An error in the request is 400. A temporary error is 503, and so is an answer of the vendor that can't be used.
    /// A vendor without flags is 400, because repeating the request can't help.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - isAboutUser: Whether the vendor was asked with the user's attributes, so that it may refuse those.
    package init(_ error: ExperimentationError, isAboutUser: Bool = true) {
        switch error.code {
        case .targetingKeyMissing: self.init(.targetingKeyMissing, error.message)
        case .invalidContext, .invalidArgument: self.init(.invalidContext, error.message)
        // Without a status that blames the request, it is the vendor's answer that is too large.
        case .tooLarge where isAboutUser && error.cause is RefusingStatus: self.init(.invalidContext, error.message)
        case .flagNotFound: self.init(.flagNotFound, error.message)
        case .unsupported, .consentDenied: self.init(.general, error.message)
        case .providerNotReady, .transport, .timeout, .vendorFault, .parseError, .tooLarge, .store, .outboxFull,
            .shutDown, .cancelled:
            self.init(.general, error.message, status: .serviceUnavailable)
        default: self.init(.general, error.message, status: .internalServerError)
        }
    }

    /// The body; two clients need both code and message in every error.
    ///
    /// - Parameter key: The flag's key, for a single evaluation.
    /// - Returns: The document.
    package func document(for key: String? = nil) -> FlagValue {
        var members: [String: FlagValue] = ["errorCode": .string(code.rawValue), "errorDetails": .string(details)]
        if let key { members["key"] = .string(key) }
        return .object(members)
    }
}
