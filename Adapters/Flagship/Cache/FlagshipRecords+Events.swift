import Experimentation
import Foundation

extension FlagshipHitRecord {
    /// The members that are numbers on the wire; the original stored 0 and 1 among them as Booleans.
    private static let numbers: Set<String> = ["tr", "ts", "tt", "icn", "ip", "iq", "ev", "sn", "qt"]

    /// Returns the record as an event to deliver; `nil` if it doesn't make a hit.
    ///
    /// Types that the original lost when it read its own records back (pages), or garbled (consent, transactions and
    /// items with their ids swapped), are restored as they were.
    ///
    /// - Parameter id: The record's id.
    /// - Returns: The event, or `nil`.
    public func envelope(id: String) -> Envelope? {
        let content = content.reduce(into: [String: FlagValue]()) { content, member in
            guard Self.numbers.contains(member.key), let bool = member.value.boolValue else {
                content[member.key] = member.value
                return
            }
            content[member.key] = .int(bool ? 1 : 0)
        }
        let event: TrackingEvent
        let identity: Identity
        if type == "ACTIVATE" || content["vaid"] != nil {
            guard let exposure = Self.exposure(content) else { return nil }
            event = TrackingEvent(.exposure(exposure))
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
        return Exposure(
            assignment: Assignment(
                experiment: Experiment(id: group),
                group: group,
                variation: Variation(id: variation)
            )
        )
    }

    /// Returns the event that a record's id belongs to: further hits of one event are numbered after a slash.
    static func event(of id: String) -> String {
        guard let slash = id.lastIndex(of: "/"), Int(id[id.index(after: slash)...]) != nil else { return id }
        return String(id[..<slash])
    }

    /// Returns the records of an event to deliver by their ids, one for each of its hits.
    static func records(of envelope: Envelope, environmentID: String) -> [String: FlagshipHitRecord] {
        func record(_ type: String, _ content: FlagValue) -> FlagshipHitRecord {
            FlagshipHitRecord(
                visitorID: envelope.identity.id,
                anonymousID: envelope.identity.anonymousID,
                type: type,
                time: envelope.date,
                content: content.objectValue ?? [:]
            )
        }
        if case .exposure(let exposure) = envelope.event.kind {
            let content = exposure.wire(for: envelope, environmentID: environmentID, now: envelope.date)
            return [envelope.id: record("ACTIVATE", content)]
        }
        let hits = (try? FlagshipTranslation.hits(of: envelope.event, id: envelope.id)) ?? []
        var records: [String: FlagshipHitRecord] = [:]
        for (index, hit) in hits.enumerated() {
            let id = index == 0 ? envelope.id : "\(envelope.id)/\(index)"
            let content = hit.wire(for: envelope, environmentID: environmentID, now: envelope.date)
            records[id] = record(hit.type, content)
        }
        return records
    }
}

extension FlagshipHit {
    /// Whether a consent hit says that consent was given.
    fileprivate var grants: Bool { own["el"]?.stringValue?.hasSuffix(":true") ?? false }
}
