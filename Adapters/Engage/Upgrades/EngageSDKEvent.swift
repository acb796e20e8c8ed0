import AdapterKit
import Experimentation
import Foundation

/// An event that the vendor's own SDK has stored and not posted.
///
/// ```swift
/// let file = documents.appending(path: "EngageEventLocalStore2.sqlite")
/// let rows = try SQLiteTable("ZENGAGEEVENT", in: file).rows()
/// try await engage.takeOver(rows.compactMap(EngageSDKEvent.init), in: session)
/// ```
///
/// The members were found in the SDK for iOS 1.1.0; the names of table and columns follow Core Data's rules, and are
/// inferred.
public struct EngageSDKEvent: Sendable, Hashable {
    /// The kind.
    public var type: BehaviorType
    /// When it happened.
    public var date: Date
    /// Its attributes.
    public var attributes: [String: String]

    /// Parses a row; `nil` for an event that was posted or dropped, and for one that is unreadable or can't be sent.
    ///
    /// The time in the event counts, under either of the names that the SDK used for it; otherwise the row's time
    /// counts.
    public init?(_ row: [String: FlagValue]) {
        // Events that are not posted, on hold, expired or in a request are all owed.
        guard let status = row["ZEVENTSTATUS"]?.intValue, [1, 4, 5, 6].contains(status),
            let text = row["ZEVENTJSON"]?.stringValue,
            let event = (try? JSON.parse(Array(text.utf8)))?.objectValue,
            let code = event["eventTypeCode"].flatMap({ $0.intValue ?? $0.stringValue.flatMap { Int($0) } }),
            BehaviorType.codes.contains(code)
        else { return nil }
        let written = (event["eventTimestamp"] ?? event["eventTimeStamp"])?.stringValue
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let kept = row["ZEVENTDATE"]?.doubleValue.map(Date.init(timeIntervalSinceReferenceDate:))
        guard let date = written.flatMap({ try? style.parse($0) }) ?? kept else { return nil }
        self.date = date
        type = BehaviorType(rawValue: code)
        attributes = [:]
        for case let pair? in (event["attributes"]?.arrayValue ?? []).map(\.objectValue) {
            // Values that were empty then may be known now, such as the recipient's id at a first launch.
            guard let name = pair["name"]?.stringValue, !name.isEmpty,
                let text = pair["value"].flatMap(EngageTranslation.text),
                !text.isEmpty
            else { continue }
            attributes[name] = text
        }
    }
}

extension Engage {
    /// Imports events that the vendor's SDK hadn't posted, with their times; call it once.
    ///
    /// Events contain nothing that identifies repetitions: events that are imported twice are posted twice. Remove the
    /// SDK's file when this returns. An event that can't be sent because of its content is left out and logged.
    ///
    /// - Parameters:
    ///   - events: The events.
    ///   - session: The session of their user.
    /// - Throws: As `UserSession.track`; the events before the failed one are accepted. If every event is refused, the
    ///   last one's reason is thrown: the session may be at fault, and the SDK's file is still needed.
    public func takeOver(_ events: [EngageSDKEvent], in session: UserSession) async throws(ExperimentationError) {
        var isOneAccepted = false
        var refusal: ExperimentationError?
        for event in events.sorted(by: { $0.date < $1.date }) {
            let attributes = Attributes(event.attributes.mapValues(FlagValue.string))
            do throws(ExperimentationError) {
                try await session.track(.behavior(event.type, attributes: attributes), at: event.date)
                isOneAccepted = true
            } catch  where [.unsupported, .invalidArgument, .tooLarge].contains(error.code) {
                // Ending here would keep the file, and so import the earlier events again with every launch.
                environment.log.log(.warning, "engage.upgrade", "an event can't be taken over: \(error.message)")
                refusal = error
            }
        }
        if !isOneAccepted, let refusal { throw refusal }
    }
}
