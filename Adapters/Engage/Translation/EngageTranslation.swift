import Experimentation
import Foundation

/// Translates neutral events into the vendor's behaviors; pure.
struct EngageTranslation: Sendable {
    /// The attributes of every behavior, in the order of the vendor's documents; their names are fixed.
    static let coreNames = [
        "Device Name", "Device Version", "OS Name", "OS Version", "App Name", "App Version", "Device Id",
        "Primary User Id", "Anonymous Id", "Recipient Id",
    ]

    let names: EngageConfiguration.AttributeNames
    let scan: CampaignScan
    let device: EngageDevice
    let sendsContactID: Bool

    init(_ configuration: EngageConfiguration) {
        names = configuration.attributes
        scan = CampaignScan(names: configuration.parameters, lifetime: configuration.campaignLifetime)
        device = configuration.device
        sendsContactID = configuration.sendsContactID
    }

    /// A kind of behavior with the attributes specific to it.
    struct Draft: Sendable {
        var type: BehaviorType
        var extras: [(name: String, value: String)] = []
        /// Whether the behavior names the current campaign; the installation names the last one instead.
        var namesCurrentCampaign = true
        /// The values, besides the attributes, that may contain a campaign; `nil` if the kind brings none.
        var scanned: [String: FlagValue]?
    }

    /// Returns an event in the vendor's format.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if the vendor has none.
    func knownDraft(of event: TrackingEvent) throws(ExperimentationError) -> Draft {
        guard let draft = draft(of: event) else {
            throw ExperimentationError(.unsupported, "Engage has no behaviour for \(event.type)")
        }
        return draft
    }

    /// Returns an event in the vendor's format; `nil` if the vendor has none for it.
    func draft(of event: TrackingEvent) -> Draft? {
        switch event.kind {
        case .custom(let name, let value):
            let value = value.map { [("Value", Self.text(.double($0)) ?? "")] } ?? []
            return Draft(type: .namedEvent, extras: [(names.eventName, name)] + value)
        case .goalCompleted(let name): return Draft(type: .goalCompleted, extras: [(names.goalName, name)])
        case .goalAbandoned(let name): return Draft(type: .goalAbandoned, extras: [(names.goalName, name)])
        case .installed: return Draft(type: .installed, namesCurrentCampaign: false)
        case .sessionStarted: return Draft(type: .sessionStarted, scanned: [:])
        case .sessionEnded(let seconds):
            let whole = Int(exactly: seconds.rounded(.down)) ?? 0
            return Draft(type: .sessionEnded, extras: [(names.sessionDuration, String(whole))])
        case .notificationReceived(let content): return notification(.receivedNotification, content)
        case .notificationOpened(let content): return notification(.openedNotification, content)
        case .native(let native) where native.type == TrackingEvent.behaviorWord:
            guard let code = native.payload["code"]?.intValue, BehaviorType.codes.contains(code) else { return nil }
            return Draft(type: BehaviorType(rawValue: code))
        default: return nil
        }
    }

    private func notification(_ type: BehaviorType, _ content: NotificationContent) -> Draft {
        var extras = [(names.displayedMessage, content.message ?? Self.message(in: content.payload))]
        if let action = content.callToAction ?? scan.text(scan.names.callToAction, in: content.payload) {
            extras.append((names.callToAction, action))
        }
        return Draft(type: type, extras: extras, scanned: content.payload)
    }

    /// Returns the text of a push notification: `aps.alert` if it is a string, else its `body`, else an empty string.
    static func message(in payload: [String: FlagValue]) -> String {
        switch payload["aps"]?.objectValue?["alert"] {
        case .string(let text): text
        case .object(let alert): alert["body"]?.stringValue ?? ""
        default: ""
        }
    }

    /// Returns the campaign that an event brings to its user.
    func campaign(of event: TrackingEvent, at date: Date, to userID: String) -> CampaignShelf.Entry? {
        guard let scanned = draft(of: event)?.scanned else { return nil }
        return scan.campaign(in: scanned.merging(event.attributes.values) { $1 }, at: date, of: userID)
    }

    /// Returns the application's attributes of an event as the vendor accepts them: strings, without objects.
    func attributes(of event: TrackingEvent) -> [String: String] {
        var result: [String: String] = [:]
        for (name, value) in event.attributes.values {
            if name == names.tags, case .array(let tags) = value {
                result[name] = tags.compactMap(Self.text).joined(separator: ",")
            } else if let text = Self.text(value) {
                result[name] = text
            }
        }
        return result
    }

    /// Builds a behavior.
    ///
    /// The application's attributes take precedence over the kind's, and the kind's over those added to every behavior.
    ///
    /// `said` holds the attributes from the application and the plug-ins.
    func behavior(
        _ envelope: Envelope,
        draft: Draft,
        said: [String: String],
        record: EngageRecord
    ) -> EngageWire.Behavior {
        var attributes: [EngageWire.Behavior.Attribute] = []
        attributes.reserveCapacity(draft.extras.count + said.count + Self.coreNames.count + 1)
        var written: Set<String> = []
        func add(_ name: String, _ value: String) {
            guard written.insert(name).inserted else { return }
            attributes.append(.init(name: name, value: said[name] ?? value))
        }
        for extra in draft.extras { add(extra.name, extra.value) }
        let campaigns = record.campaigns(of: envelope.identity.id)
        if draft.namesCurrentCampaign {
            add(names.currentCampaign, campaigns.current(at: envelope.date))
        } else {
            add(names.lastCampaign, campaigns.last(at: envelope.date))
        }
        let core = Set(Self.coreNames)
        for name in said.keys.filter({ !core.contains($0) }).sorted() { add(name, said[name] ?? "") }
        let identity = envelope.identity
        let recipient = record.recipient(of: identity.id, at: envelope.date)
        let anonymous = identity.anonymousID ?? (record.isOwn(identity.id) ? record.anonymousID : "")
        let values = [
            device.name, device.version, device.osName, device.osVersion, device.appName, device.appVersion,
            device.id ?? record.deviceID, identity.id, anonymous, recipient,
        ]
        for (name, value) in zip(Self.coreNames, values) { add(name, value) }
        return EngageWire.Behavior(
            code: draft.type.rawValue,
            timestamp: EngageTimestamp.behavior(envelope.date),
            contactID: sendsContactID && !recipient.isEmpty ? recipient : nil,
            attributes: attributes
        )
    }

    /// Returns a value as a string; `nil` for objects and null.
    static func text(_ value: FlagValue) -> String? {
        switch value {
        case .null, .object: nil
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double(let number): Int(exactly: number).map(String.init) ?? String(number)
        case .string(let text): text
        case .array(let values): values.compactMap(text).joined(separator: ",")
        }
    }
}
