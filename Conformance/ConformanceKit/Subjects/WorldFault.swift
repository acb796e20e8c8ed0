import Experimentation

/// A fault between an adapter and its vendor, in neutral terms.
///
/// As JSON: `{"operation":"events","fault":"status","status":503,"retryAfter":1,"after":0,"times":2}`.
public struct WorldFault: Sendable, Hashable {
    /// The purpose of an exchange.
    public enum Operation: String, Sendable, Hashable, Codable, CaseIterable {
        /// Fetching decisions, or the rules behind them.
        case decisions
        /// Delivering events.
        case events
        /// Reporting exposures; the same as ``events`` where the vendor's wire doesn't distinguish them.
        case exposures
        /// Linking identities, or introducing a user to the vendor.
        case identity
        /// Obtaining credentials.
        case authentication
        /// Anything.
        case any
    }

    /// The kind of fault.
    public enum Kind: Sendable, Hashable {
        /// Answers with this status without asking the vendor; `retryAfter` is in seconds.
        case status(Int, retryAfter: Int? = nil)
        /// Answers late.
        case delay(milliseconds: Int)
        /// Takes the request and never answers.
        case stall
        /// Resets the connection before the vendor sees the request.
        case reset
        /// Lets the vendor apply the request and resets the connection instead of answering.
        case resetAfterApplying
        /// Sends only part of the body, and closes.
        case truncate
        /// Sends bytes that are invalid in the vendor's format, with its content type and status 200.
        case garbage
        /// Redirects to another address of the same host that would answer 200.
        case redirect
        /// Answers 200 with an HTML page, as a captive portal does.
        case html200
        /// Answers 200 with the vendor's own failure message, where it has one.
        case vendorFailure200
        /// Announces a body longer than the one sent.
        case wrongLength
        /// Answers 200 with many megabytes.
        case oversized
    }

    /// The exchanges that it affects.
    public var operation: Operation
    /// The kind of fault.
    public var kind: Kind
    /// How many matching exchanges succeed before it begins.
    public var after: Int
    /// How many exchanges it affects; `nil` for all that follow.
    public var times: Int?
    /// Text that a request must contain to be affected, such as the mark of an event; any request if `nil`.
    ///
    /// Models an event that a vendor rejects among others that it accepts, whichever are sent with it.
    public var containing: String?

    /// Creates a fault.
    public init(
        _ kind: Kind,
        on operation: Operation = .any,
        after: Int = 0,
        times: Int? = 1,
        containing: String? = nil
    ) {
        self.kind = kind
        self.operation = operation
        self.after = after
        self.times = times
        self.containing = containing
    }
}

extension WorldFault: CustomStringConvertible {
    /// The fault in a few words.
    public var description: String {
        let often = times.map { $0 == 1 ? "once" : "\($0) times" } ?? "from now on"
        let status = if case .status(let status, _) = kind { " \(status)" } else { "" }
        let what = containing.map { " with \"\($0)\"" } ?? ""
        return "\(kind.name)\(status) on \(operation.rawValue)\(what), \(often)"
    }
}

extension WorldFault.Kind {
    /// The kind's name in the JSON form.
    public var name: String {
        switch self {
        case .status: "status"
        case .delay: "delay"
        case .stall: "stall"
        case .reset: "reset"
        case .resetAfterApplying: "resetAfterApplying"
        case .truncate: "truncate"
        case .garbage: "garbage"
        case .redirect: "redirect"
        case .html200: "html200"
        case .vendorFailure200: "vendorFailure200"
        case .wrongLength: "wrongLength"
        case .oversized: "oversized"
        }
    }

    /// The names of all kinds.
    public static let names = [
        "status", "delay", "stall", "reset", "resetAfterApplying", "truncate", "garbage", "redirect", "html200",
        "vendorFailure200", "wrongLength", "oversized",
    ]
}

extension WorldFault {
    /// Parses a fault from an object's keys.
    public init(reading reader: inout DocumentReader) throws(DocumentError) {
        let operation: Operation = try reader.choice("operation", default: .any)
        let kind: Kind
        switch try reader.string("fault") {
        case "status":
            kind = .status(try reader.int("status", in: 100...599), retryAfter: try reader.optionalInt("retryAfter"))
        case "delay": kind = .delay(milliseconds: try reader.int("milliseconds", in: 0...60_000))
        case "stall": kind = .stall
        case "reset": kind = .reset
        case "resetAfterApplying": kind = .resetAfterApplying
        case "truncate": kind = .truncate
        case "garbage": kind = .garbage
        case "redirect": kind = .redirect
        case "html200": kind = .html200
        case "vendorFailure200": kind = .vendorFailure200
        case "wrongLength": kind = .wrongLength
        case "oversized": kind = .oversized
        default: throw reader.wrong("fault", expected: "one of " + Kind.names.joined(separator: ", "))
        }
        let after = try reader.optionalInt("after") ?? 0
        let isForever = reader.value("times") == "forever"
        self.init(
            kind,
            on: operation,
            after: after,
            times: isForever ? nil : try reader.optionalInt("times") ?? 1,
            containing: try reader.optionalString("containing")
        )
    }

    /// The JSON form.
    public var document: FlagValue {
        var members: [String: FlagValue] = [
            "operation": .string(operation.rawValue), "fault": .string(kind.name),
        ]
        switch kind {
        case .status(let status, let retryAfter):
            members["status"] = .int(status)
            if let retryAfter { members["retryAfter"] = .int(retryAfter) }
        case .delay(let milliseconds): members["milliseconds"] = .int(milliseconds)
        default: break
        }
        if after != 0 { members["after"] = .int(after) }
        if times != 1 { members["times"] = times.map { .int($0) } ?? "forever" }
        if let containing { members["containing"] = .string(containing) }
        return .object(members)
    }
}
