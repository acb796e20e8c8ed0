import AdapterKit
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
        // The vendor counts by these.
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

    /// The members of an exposure's record that aren't sent: JSON texts of what the application is notified of.
    private enum Internal {
        static let flag = "internal_exposure_flag"
        static let visitor = "internal_exposure_visitor"
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
            let sent = exposure.wire(for: envelope, environmentID: environmentID, now: envelope.date)
            var content = sent.objectValue ?? [:]
            let ids = envelope.identity.flagship
            var visitor = FlagshipExposedVisitor(id: ids.visitor, anonymousID: ids.anonymous).toDictionary()
            // Left out if the event doesn't say it: an empty one would count as the visitor's.
            visitor["context"] = envelope.event.attributes[FlagshipExposedVisitor.contextAttribute]
            content[Internal.flag] = FlagshipExposedFlag(exposure).toJson().map { .string($0) }
            content[Internal.visitor] = FlagshipJSON.text(.object(visitor)).map { .string($0) }
            return [envelope.id: record("ACTIVATE", .object(content))]
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
