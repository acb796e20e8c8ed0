import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// A report to the vendor's developers: how its SDK is used, or what went wrong.
struct FlagshipReport: Sendable, Hashable {
    /// The subject of a report, by the vendor's name.
    enum Label: String, Sendable, CaseIterable {
        case fetched = "VISITOR_FETCH_CAMPAIGNS"
        case authenticated = "VISITOR_AUTHENTICATE"
        case unauthenticated = "VISITOR_UNAUTHENTICATE"
        case hit = "VISITOR_SEND_HIT"
        case exposure = "VISITOR_SEND_ACTIVATE"
        case file = "SDK_BUCKETING_FILE"
        case fileFailed = "SDK_BUCKETING_FILE_ERROR"
        case campaignsFailed = "GET_CAMPAIGNS_ROUTE_RESPONSE_ERROR"
        case hitsFailed = "SEND_BATCH_HIT_ROUTE_RESPONSE_ERROR"
        case exposuresFailed = "SEND_ACTIVATE_HIT_ROUTE_ERROR"
        case exposedUnknownFlag = "VISITOR_EXPOSED_FLAG_NOT_FOUND"
        case exposedUnreadFlag = "FLAG_EXPOSED_BEFORE_CALLING_VALUE_METHOD"
        case caught = "ERROR_CATCHED"
        /// The only report about usage; the others are for troubleshooting.
        case configuration = "SDK_CONFIG"

        /// The kind of report that must be enabled for this one.
        var kind: FlagshipReports { self == .configuration ? .usage : .troubleshooting }

        /// Its severity, which the vendor derives from the label.
        var level: String {
            if rawValue.contains("ERROR") { return "ERROR" }
            return rawValue.contains("WARNING") || rawValue.contains("FLAG_NOT_FOUND") ? "WARNING" : "INFO"
        }
    }

    /// The visitor that a report is about.
    struct Visitor: Sendable, Hashable {
        var identity: Identity
        var hasConsented: Bool
    }

    var label: Label
    /// The subject's id; in a usage report, an id generated for this run, never the visitor's.
    var visitorID: String
    /// Its contents; the vendor takes only strings.
    var fields: [String: String]

    /// Returns the report as it is sent, with a new instance's id, which the original also creates for each report.
    func wire(environmentID: String, instanceID: String, date: Date, timeZone: TimeZone) -> FlagValue {
        let common = [
            "version": "1", "envId": environmentID, "timestamp": Self.text(of: date),
            "timeZone": timeZone.abbreviation(for: date) ?? timeZone.identifier, "label": label.rawValue,
            "logLevel": label.level, "stack.type": "SDK", "stack.name": FlagshipWire.sdkClient,
            "stack.version": FlagshipWire.sdkVersion, "flagshipInstanceId": instanceID,
        ]
        let texts = fields.mapValues(Self.bounded).merging(common) { $1 }
        return [
            "t": label.kind == .usage ? "USAGE" : "TROUBLESHOOTING", "cid": .string(environmentID),
            "ds": .string(FlagshipWire.dataSource), "vid": .string(visitorID), "qt": 0,
            "cv": .object(texts.mapValues { .string($0) }),
        ]
    }

    /// Formats a date for reports: UTC, with milliseconds and a numeric zone.
    static func text(of date: Date) -> String {
        let text = date.iso8601Milliseconds
        return text.hasSuffix("Z") ? text.dropLast() + "+0000" : text
    }

    /// The maximum length of a string in a report; the rest of a file or page is cut off.
    static let longest = 1 << 16

    private static func bounded(_ text: String) -> String {
        text.utf8.count <= longest ? text : String(decoding: text.utf8.prefix(longest), as: UTF8.self)
    }
}

// MARK: - Contents of reports

extension FlagshipReport {
    /// Returns the fields that identify the visitor.
    static func fields(of identity: Identity, sessionID: String) -> [String: String] {
        [
            "visitor.sessionId": sessionID, "visitor.visitorId": identity.id,
            "visitor.anonymousId": identity.anonymousID ?? "null",
        ]
    }

    /// Returns each value of an object as a field of its own.
    static func fields(of values: [String: FlagValue], under prefix: String) -> [String: String] {
        Dictionary(values.map { ("\(prefix).\($0.key)", text(of: $0.value)) }) { $1 }
    }

    /// Returns the fields of an HTTP exchange, without credentials.
    static func fields(of request: HTTPRequest, _ reply: HTTPReply, after duration: Duration) -> [String: String] {
        [
            "http.request.headers": text(of: request.headerFields), "http.request.method": request.method.rawValue,
            "http.request.url": "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")",
            "http.response.headers": text(of: reply.response.headerFields), "http.response.code": String(reply.status),
            "http.response.body": String(decoding: reply.body.prefix(longest), as: UTF8.self),
            "http.response.time": milliseconds(duration),
        ]
    }

    /// Formats a duration for reports, in whole milliseconds.
    static func milliseconds(_ duration: Duration) -> String {
        String(Int64(exactly: (duration / .milliseconds(1)).rounded(.towardZero)) ?? .max)
    }

    /// Formats a value for reports: strings bare, everything else as JSON.
    static func text(of value: FlagValue) -> String {
        if case .string(let text) = value { text } else { (try? JSON.text(value)) ?? "" }
    }

    private static let secrets: Set<String> = ["x-api-key", "authorization", "cookie", "set-cookie"]

    private static func text(of headers: HTTPFields) -> String {
        var members: [String: FlagValue] = [:]
        for header in headers where !secrets.contains(header.name.canonicalName) {
            members[header.name.rawName] = .string(header.value)
        }
        return text(of: .object(members))
    }
}
