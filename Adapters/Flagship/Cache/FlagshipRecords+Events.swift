import AdapterKit
import Experimentation
import Foundation

extension FlagshipHitRecord {
    /// The members that are numbers on the wire; the original stored 0 and 1 among them as Booleans.
    private static let numbers: Set<String> = ["tr", "ts", "tt", "icn", "ip", "iq", "ev", "sn", "qt"]

    /// Returns the record as an event to deliver; `nil` if it doesn't form a hit.
    ///
    /// Types that the original SDK lost when it read its own records back (pages), or garbled (consent, transactions
    /// and items with their ids swapped), are restored as they were.
    public func envelope(id: String) -> Envelope? {
        var content = content
        for name in Self.numbers { if let bool = content[name]?.boolValue { content[name] = .int(bool ? 1 : 0) } }
        let event: TrackingEvent
        let identity: Identity
        if type == "ACTIVATE" || content["vaid"] != nil {
            guard let exposure = Self.exposure(content) else { return nil }
            event = TrackingEvent(.exposure(exposure), attributes: Self.attributes(content))
            identity = Identity(id: content["vid"]?.stringValue ?? visitorID, anonymousID: content["aid"]?.stringValue)
        } else {
            var payload = content
            if payload["t"] == nil { payload["t"] = .string(type) }
            guard let hit = try? FlagshipHit(NativeEvent(type: FlagshipHit.nativeType, payload: payload)),
                (try? hit.validate()) != nil
            else { return nil }
            event =
                hit.isConsent ? TrackingEvent(.consentChanged(granted: hit.grants)) : TrackingEvent(.native(hit.native))
            let visitor = content["vid"]?.stringValue ?? visitorID
            let customer = content["cuid"]?.stringValue
            identity = Identity(id: customer ?? visitor, anonymousID: customer == nil ? nil : visitor)
        }
        guard !identity.id.isEmpty else { return nil }
        return Envelope(id: id, identity: identity, event: event, date: time)
    }

    private static func exposure(_ content: [String: FlagValue]) -> Exposure? {
        guard let group = content["caid"]?.stringValue, let variation = content["vaid"]?.stringValue,
            !group.isEmpty, !variation.isEmpty
        else { return nil }
        let flag = members(of: content[Internal.flag])
        var metadata = FlagshipFlagMetadata(flag["metadata"]?.objectValue ?? [:])
        // The vendor counts by these ids.
        (metadata.variationGroupId, metadata.variationId) = (group, variation)
        var assignment = metadata.assignment
        if metadata.campaignId.isEmpty { assignment.experiment = Experiment(id: group) }
        let key = flag.text("key")
        return Exposure(
            of: assignment,
            through: key.isEmpty ? nil : key,
            value: flag["value"],
            default: flag["defaultValue"]
        )
    }

    /// The attribute in which an exposure carries its visitor's context.
    private static func attributes(_ content: [String: FlagValue]) -> Attributes {
        guard let context = members(of: content[Internal.visitor])["context"]?.objectValue else { return [:] }
        let values = context.filter { FlagshipTranslation.isContextValue($0.value) }
        return [FlagshipExposedVisitor.contextAttribute: .object(values)]
    }

    private static func members(of text: FlagValue?) -> [String: FlagValue] {
        guard let text = text?.stringValue else { return [:] }
        return (try? JSON.parse(Array(text.utf8)))?.objectValue ?? [:]
    }

    /// The members of an exposure's record that aren't sent: JSON texts for notifying the application.
    private enum Internal {
        static let flag = "internal_exposure_flag"
        static let visitor = "internal_exposure_visitor"
    }

    /// Returns the id of the event that a record belongs to: further hits of one event are numbered after a slash.
    static func event(of id: String) -> String {
        guard let slash = id.lastIndex(of: "/"), Int(id[id.index(after: slash)...]) != nil else { return id }
        return String(id[..<slash])
    }

    /// Returns the records of an event to deliver by their ids, one for each of its hits.
    static func records(of envelope: Envelope, environmentID: String) -> [String: FlagshipHitRecord] {
        let sent = (try? envelope.wire(environmentID: environmentID, now: envelope.date)) ?? []
        var records: [String: FlagshipHitRecord] = [:]
        for (index, content) in sent.compactMap(\.objectValue).enumerated() {
            records[index == 0 ? envelope.id : "\(envelope.id)/\(index)"] = FlagshipHitRecord(
                visitorID: envelope.identity.id,
                anonymousID: envelope.identity.anonymousID,
                type: content["t"]?.stringValue ?? "ACTIVATE",
                time: envelope.date,
                content: content.merging(notSent(of: envelope)) { sent, _ in sent }
            )
        }
        return records
    }

    private static func notSent(of envelope: Envelope) -> [String: FlagValue] {
        guard case .exposure(let exposure) = envelope.event.kind else { return [:] }
        let ids = envelope.identity.flagship
        var visitor = FlagshipExposedVisitor(id: ids.visitor, anonymousID: ids.anonymous).toDictionary()
        // The context is left out if the event has none: an empty one would count as the visitor's.
        visitor["context"] = envelope.event.attributes[FlagshipExposedVisitor.contextAttribute]
        let (flag, seer) = (FlagshipExposedFlag(exposure).toJson(), try? JSON.text(.object(visitor)))
        return [Internal.flag: flag, Internal.visitor: seer].compactMapValues { $0.map { .string($0) } }
    }
}

extension [String: FlagshipHitRecord] {
    /// The records as events, oldest first, without those that don't form a hit.
    var envelopes: [Envelope] {
        compactMap { $1.envelope(id: $0) }.sorted { ($0.date, $0.id) < ($1.date, $1.id) }
    }
}
