/// A failure as a value: a stable code, a message for a person, and the cause if there is one.
///
/// Compare ``code`` in programs; print ``message`` for people. A message names the place and the remedy where both
/// are known, and never holds a secret.
public struct ExperimentationError: Error, Sendable {
    /// The stable code, OpenFeature's where it has one.
    public let code: ErrorCode

    /// What happened, for a person.
    public let message: String

    /// The error below this one, if any.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The stable code.
    ///   - message: What happened, for a person. It must not hold a secret or personal data.
    ///   - cause: The error below this one.
    public init(_ code: ErrorCode, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension ExperimentationError: CustomStringConvertible {
    /// The code and the message, without the cause, whose text may hold secrets.
    public var description: String { "\(code.rawValue): \(message)" }
}

extension ExperimentationError: Equatable {
    /// Compares code and message; causes are not compared.
    public static func == (one: Self, other: Self) -> Bool {
        one.code == other.code && one.message == other.message
    }
}

/// A stable name for a kind of failure.
///
/// The first group is OpenFeature's and may appear in an evaluation; the second is this framework's. The type is open,
/// so that a new code doesn't break a `switch`.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, Codable {
    /// The code's written form, as in reports.
    public let rawValue: String

    /// Creates a code from its written form.
    public init(rawValue: String) { self.rawValue = rawValue }

    // MARK: OpenFeature's

    /// The provider has no decisions yet.
    public static let providerNotReady = ErrorCode(rawValue: "PROVIDER_NOT_READY")
    /// No flag has this key.
    public static let flagNotFound = ErrorCode(rawValue: "FLAG_NOT_FOUND")
    /// The vendor's value for this flag can't be read.
    public static let parseError = ErrorCode(rawValue: "PARSE_ERROR")
    /// The flag's value is of another type than the requested one.
    public static let typeMismatch = ErrorCode(rawValue: "TYPE_MISMATCH")
    /// The user has no id and the vendor needs one.
    public static let targetingKeyMissing = ErrorCode(rawValue: "TARGETING_KEY_MISSING")
    /// The evaluation context can't be used.
    public static let invalidContext = ErrorCode(rawValue: "INVALID_CONTEXT")
    /// The provider has failed in a way that it can't recover from.
    public static let providerFatal = ErrorCode(rawValue: "PROVIDER_FATAL")
    /// Any other failure of an evaluation.
    public static let general = ErrorCode(rawValue: "GENERAL")

    // MARK: Ours

    /// The vendor has no equivalent of the requested feature.
    public static let unsupported = ErrorCode(rawValue: "UNSUPPORTED")
    /// A setting is missing or contradicts another; retrying can't help.
    public static let configuration = ErrorCode(rawValue: "CONFIGURATION")
    /// An argument is outside the allowed range.
    public static let invalidArgument = ErrorCode(rawValue: "INVALID_ARGUMENT")
    /// The vendor couldn't be reached, or the connection broke.
    public static let transport = ErrorCode(rawValue: "TRANSPORT")
    /// The deadline passed.
    public static let timeout = ErrorCode(rawValue: "TIMEOUT")
    /// The vendor refused the credentials.
    public static let unauthorized = ErrorCode(rawValue: "UNAUTHORIZED")
    /// The vendor answered with a failure of its own.
    public static let vendorFault = ErrorCode(rawValue: "VENDOR_FAULT")
    /// The store can't be read or written.
    public static let store = ErrorCode(rawValue: "STORE")
    /// Too many events wait; ``BackPressure`` says how many may.
    public static let outboxFull = ErrorCode(rawValue: "OUTBOX_FULL")
    /// The event or answer is larger than allowed.
    public static let tooLarge = ErrorCode(rawValue: "TOO_LARGE")
    /// The user has denied consent.
    public static let consentDenied = ErrorCode(rawValue: "CONSENT_DENIED")
    /// The vendor's kill switch is on.
    public static let disabled = ErrorCode(rawValue: "DISABLED")
    /// The client has been shut down.
    public static let shutDown = ErrorCode(rawValue: "SHUT_DOWN")
    /// The task was cancelled.
    public static let cancelled = ErrorCode(rawValue: "CANCELLED")
}

extension ErrorCode: CustomStringConvertible {
    /// The written form.
    public var description: String { rawValue }
}

extension ErrorCode {
    /// Whether it is about the caller's own task or client, and says nothing about the vendor.
    var isOwn: Bool { [.cancelled, .shutDown].contains(self) }
}
