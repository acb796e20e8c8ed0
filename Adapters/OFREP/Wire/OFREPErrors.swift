import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// Maps the protocol's statuses to errors.
enum OFREPErrors {
    /// The maximum length of a validator that is sent back.
    private static let longestValidator = 1_024
    /// The maximum pause that a server may ask for: a day.
    static let longestPause = Duration.seconds(86_400)

    /// Returns why an answer to a bulk evaluation failed; `nil` if it is good.
    ///
    /// - Parameters:
    ///   - reply: The answer.
    ///   - isConditional: Whether the request carried a validator; a 304 without one is an error.
    /// - Returns: The error, or `nil`.
    static func failure(of reply: HTTPReply, isConditional: Bool) -> ExperimentationError? {
        switch reply.status {
        case 200: nil
        case 201...299: ExperimentationError(.vendorFault, "The OFREP server answered \(reply.status)")
        case 304 where isConditional: nil
        case 304: ExperimentationError(.vendorFault, "The OFREP server confirms an answer that it never gave (304)")
        case 400: refusal(reply)
        case 413, 431:
            ExperimentationError(
                .tooLarge,
                "The user's attributes are too large for the OFREP server",
                cause: RefusingStatus(reply.status)
            )
        case let status: ReadFailure.of(status: status, from: "The OFREP server", asking: "flags")
        }
    }

    /// Whether the same question may be answered later: neither its contents nor the credentials were refused.
    static func mayPass(_ error: ExperimentationError) -> Bool {
        [.transport, .timeout, .vendorFault].contains(error.code)
            && (error.cause as? RefusingStatus)?.status != 400
    }

    /// Maps the error code of a 400 answer.
    private static func refusal(_ reply: HTTPReply) -> ExperimentationError {
        let code = (try? JSON.parse(reply.body))?.objectValue?["errorCode"]?.stringValue
        return switch code {
        case "TARGETING_KEY_MISSING":
            ExperimentationError(.targetingKeyMissing, "The OFREP server misses the user's id")
        case "INVALID_CONTEXT":
            ExperimentationError(.invalidContext, "The OFREP server rejects the user's attributes")
        case "PARSE_ERROR": ExperimentationError(.parseError, "The OFREP server can't read the question")
        default:
            ExperimentationError(
                .vendorFault,
                "The OFREP server rejected the request (400)",
                cause: RefusingStatus(reply.status)
            )
        }
    }

    /// Returns the answer's validator, if it can be sent back.
    static func validator(of reply: HTTPReply) -> String? {
        guard let text = reply.response.headerFields[.eTag], !text.isEmpty, text.utf8.count <= longestValidator,
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        return text
    }

    /// Returns how long the server asks to wait; `nil` without a readable `Retry-After`.
    ///
    /// Also accepts the ISO 8601 date of the protocol's own example, which HTTP doesn't define.
    static func wait(in fields: HTTPFields, date now: Date) -> Duration? {
        let waits = fields[values: .retryAfter].compactMap { text -> Double? in
            let text = text.trimmingCharacters(in: .whitespaces)
            if let seconds = Double(text), text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) {
                return seconds
            }
            let date = HTTPDate.parse(text) ?? (try? Date(text, strategy: .iso8601))
            return date.map { max(0, $0.timeIntervalSince(now)) }
        }
        guard let wait = waits.max(), wait.isFinite else { return nil }
        // Compared as a number, because `Duration` traps on overflow.
        return wait < longestPause / .seconds(1) ? .seconds(wait) : longestPause
    }
}
