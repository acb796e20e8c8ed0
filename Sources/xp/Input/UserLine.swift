import AdapterKit
import ComparisonKit
import ConformanceKit
import Experimentation
import Foundation

/// The error object printed in place of a rejected line.
struct LineError: Error {
    let code: ErrorCode
    let message: String

    init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// A line of users: `{"user":{…},"assignments":{group:variation}}`.
struct UserLine {
    let user: User
    let written: FlagValue
    let assignments: [String: String]

    init(_ line: LineReader.Line) throws {
        let document = try Self.parse(line)
        do {
            var reader = try DocumentReader(document, named: "line \(line.number)")
            written = reader.value("user")
            user = try Self.user(&reader)
            assignments = try reader.texts("assignments")
            try reader.finish()
        } catch let error as DocumentError {
            throw LineError(.invalidContext, error.description)
        }
    }

    /// Reads a line as JSON.
    static func parse(_ line: LineReader.Line) throws -> FlagValue {
        guard let bytes = line.bytes else {
            throw LineError(.tooLarge, "line \(line.number): is longer than \(LineReader.longest >> 20) MB")
        }
        do {
            return try JSON.parse(bytes)
        } catch {
            // Replaces the parser's own line number, which is always 1.
            let message = error.message.trimming(prefix: "line 1, ")
            let place = message.count < error.message.count ? "line \(line.number), " : "line \(line.number): "
            throw LineError(.parseError, place + message)
        }
    }

    /// Reads the user of a line.
    static func user(_ reader: inout DocumentReader) throws -> User {
        guard reader.has("user") else { throw reader.wrong("user", expected: "an object with an \"id\"") }
        var nested = try reader.reader("user")
        if nested.value("id") == "" || !nested.has("id") {
            throw LineError(
                .targetingKeyMissing,
                "\(reader.document): user.id: expected a text that is not empty"
            )
        }
        let user = try User(reading: &nested)
        try nested.finish()
        return user
    }
}

/// A line of events: `{"user":{…},"event":{"type":…},"at":…}`, with the members that `xp outbox export` adds.
struct EventLine {
    let user: User
    let event: TrackingEvent
    let date: Date?
    /// The event's id, if it was accepted earlier.
    let id: String?
    /// The session that accepted it.
    let session: String?
    /// The part of the application in which it happened.
    let surface: String?
    /// The targets that had campaign handlers there.
    let campaignTargets: [String]?

    /// The event's original envelope, if it was accepted earlier.
    var envelope: Envelope? {
        guard let id, let date else { return nil }
        return Envelope(
            id: id,
            identity: user.identity,
            session: session ?? "",
            surface: surface,
            campaignTargets: campaignTargets,
            event: event,
            date: date,
            attributeChanges: user.attributes
        )
    }

    init(_ line: LineReader.Line) throws {
        let document = try UserLine.parse(line)
        do {
            var reader = try DocumentReader(document, named: "line \(line.number)")
            user = try UserLine.user(&reader)
            guard reader.has("event") else { throw reader.wrong("event", expected: "an object with a \"type\"") }
            event = try TrackingEvent(document: reader.value("event"), named: reader.document, at: "event")
            date = try reader.optionalTime("at")
            id = try reader.has("id") ? reader.name("id") : reader.optionalString("id")
            session = try reader.optionalString("session")
            surface = try reader.optionalString("surface")
            let targets = try reader.strings("campaignTargets")
            campaignTargets = targets.isEmpty ? nil : targets
            if id != nil, date == nil { throw reader.wrong("at", expected: "the time of an event that has an \"id\"") }
            try reader.finish()
        } catch let error as DocumentError {
            throw LineError(.invalidArgument, error.description)
        }
    }
}
