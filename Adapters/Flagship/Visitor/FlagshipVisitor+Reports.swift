import AdapterKit
import Experimentation
import Synchronization

extension FlagshipVisitor {
    private var reported: FlagshipReport.Visitor {
        state.withLock { FlagshipReport.Visitor(identity: $0.identity, hasConsented: $0.hasConsented) }
    }

    /// Makes this the visitor that reports without one are about.
    func noteForReports() { flagship.service?.reporter?.note(reported) }

    func report(_ label: FlagshipReport.Label, _ fields: () -> [String: String]) {
        flagship.service?.reporter?.report(label, of: reported, fields)
    }

    var contextFields: [String: String] {
        FlagshipReport.fields(of: context(), under: "visitor.context")
    }

    /// Reports a fetch's result: the whole visitor.
    func reportFetch(_ record: FlagshipVisitorRecord) {
        report(.fetched) {
            var fields = flagship.reportedFields.merging(contextFields) { $1 }
            fields["visitor.consent"] = String(record.consent)
            fields["visitor.isAuthenticated"] = String(isAuthenticated)
            fields["visitor.campaigns"] = FlagshipReport.text(of: .array(record.campaigns))
            for (group, variation) in record.assignments { fields["visitor.assignments.\(group)"] = variation }
            for (key, flag) in record.flags {
                let prefix = "visitor.flags.\(key)"
                fields["\(prefix).key"] = key
                fields["\(prefix).value"] = FlagshipReport.text(of: flag.value)
                let metadata = FlagshipReport.fields(of: flag.metadata.toDictionary(), under: "\(prefix).metadata")
                fields.merge(metadata) { $1 }
            }
            return fields
        }
    }

    /// Reports that an unknown flag was exposed, or one whose value was never read.
    func reportOddExposure(of key: String, isKnown: Bool) {
        let isRead = state.withLock { $0.reads.keys.contains(ExactText(key)) }
        guard !isKnown || !isRead else { return }
        report(isKnown ? .exposedUnreadFlag : .exposedUnknownFlag) {
            let defaultValue = FlagshipReport.text(of: lastDefault(of: key) ?? .null)
            return contextFields.merging(["flag.key": key, "flag.defaultValue": defaultValue]) { $1 }
        }
    }
}

extension Flagship {
    var reportedFields: [String: String] {
        let (endpoint, vendor) = (options.endpoints.decision, FlagshipConfiguration.Endpoints.vendor.decision)
        return [
            "sdk.status": status.rawValue, "sdk.config.mode": options.mode == .bucketing ? "BUCKETING" : "DECISION_API",
            "sdk.config.timeout": FlagshipReport.milliseconds(options.timeout),
            "sdk.config.pollingTime": FlagshipReport.milliseconds(options.pollingInterval),
            "sdk.config.logLevel": "\(options.logLevel)".uppercased(),
            "sdk.config.usingCustomHitCache": String(options.caches.hits != nil),
            "sdk.config.usingCustomVisitorCache": String(options.caches.visitors != nil),
            "sdk.config.usingOnVisitorExposed": String(options.onVisitorExposed != nil),
            "sdk.config.usingCustomLogManager": String(!((environment.log as? FlagshipLevelledLog)?.sink is NoLog)),
            "sdk.config.decisionApiUrl": endpoint == vendor ? FlagshipWire.decisionURL : "\(endpoint)",
            "sdk.config.trackingManager.strategy": options.tracking.strategy.rawValue,
            "sdk.config.trackingManager.batchIntervals": FlagshipReport.milliseconds(options.tracking.batchInterval),
            "sdk.config.trackingManager.poolMaxSize": String(options.tracking.poolMaxSize),
            "sdk.lastInitializationTimestamp": FlagshipReport.text(of: started),
        ]
    }
}
