/// The findings of a scenario beyond its individual steps; `nil` where the scenario doesn't cover them.
public struct Findings: Sendable, Hashable, Codable {
    /// What the application could do while the vendor was unreachable.
    public var offline: Offline?
    /// What log-in preserved.
    public var linking: Linking?
    /// What was left after consent was withdrawn.
    public var withdrawal: Withdrawal?

    /// Creates findings.
    public init(offline: Offline? = nil, linking: Linking? = nil, withdrawal: Withdrawal? = nil) {
        self.offline = offline
        self.linking = linking
        self.withdrawal = withdrawal
    }

    /// What the application could do while the vendor was unreachable.
    public struct Offline: Sendable, Hashable, Codable {
        /// The number of reads of flags that the vendor has.
        public var readings: Int
        /// The number of those that returned a value given by the vendor earlier.
        public var answered: Int
        /// The distinct reasons of the answered reads.
        public var reasons: [String]
        /// The number of accepted events.
        public var accepted: Int
        /// The number of those that still waited at the end.
        public var waiting: Int
        /// The number of those that were removed because consent was withdrawn.
        public var purged: Int
        /// The number of those that were dropped, such as for their age.
        public var dropped: Int

        /// The number of those that the vendor got after all.
        public var delivered: Int { accepted - waiting - purged - dropped }

        /// Creates a finding.
        public init(
            readings: Int = 0,
            answered: Int = 0,
            reasons: [String] = [],
            accepted: Int = 0,
            waiting: Int = 0,
            purged: Int = 0,
            dropped: Int = 0
        ) {
            self.readings = readings
            self.answered = answered
            self.reasons = reasons
            self.accepted = accepted
            self.waiting = waiting
            self.purged = purged
            self.dropped = dropped
        }
    }

    /// What log-in preserved.
    public struct Linking: Sendable, Hashable, Codable {
        /// Why log-in failed; `nil` if it succeeded.
        public var failure: String?
        /// The number of flags decided before.
        public var flags: Int
        /// The number of those with the same value right afterwards.
        public var flagsKept: Int
        /// The number of experiment assignments before.
        public var places: Int
        /// The number of those unchanged after the next refresh.
        public var placesKept: Int
        /// The number of events that waited before.
        public var waiting: Int
        /// The number of those accounted for right afterwards, waiting or delivered.
        public var waitingKept: Int
        /// Whether the vendor learned that both ids belong to one user.
        public var isVendorTold: Bool
        /// The number of requests that log-in took.
        public var requests: Int

        /// Creates a finding.
        public init(
            failure: String? = nil,
            flags: Int = 0,
            flagsKept: Int = 0,
            places: Int = 0,
            placesKept: Int = 0,
            waiting: Int = 0,
            waitingKept: Int = 0,
            isVendorTold: Bool = false,
            requests: Int = 0
        ) {
            self.failure = failure
            self.flags = flags
            self.flagsKept = flagsKept
            self.places = places
            self.placesKept = placesKept
            self.waiting = waiting
            self.waitingKept = waitingKept
            self.isVendorTold = isVendorTold
            self.requests = requests
        }
    }

    /// What was left after consent was withdrawn.
    public struct Withdrawal: Sendable, Hashable, Codable {
        /// The number of waiting events that were removed.
        public var purged: Int
        /// The number of events that still waited right afterwards, except the vendor's own consent signal.
        public var waiting: Int
        /// The number of flags decided before.
        public var flags: Int
        /// The number of those still decided right afterwards.
        public var flagsKept: Int
        /// Whether the vendor was informed.
        public var isVendorTold: Bool
        /// The number of events that reached the vendor later, except its own consent signal.
        public var arrivals: Int

        /// Creates a finding.
        public init(
            purged: Int = 0,
            waiting: Int = 0,
            flags: Int = 0,
            flagsKept: Int = 0,
            isVendorTold: Bool = false,
            arrivals: Int = 0
        ) {
            self.purged = purged
            self.waiting = waiting
            self.flags = flags
            self.flagsKept = flagsKept
            self.isVendorTold = isVendorTold
            self.arrivals = arrivals
        }
    }
}

extension Findings.Offline {
    /// The finding as a phrase.
    public var sentence: String {
        var parts: [String] = []
        if readings > 0 {
            let why = reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"
            parts.append("\(answered) of \(readings) readings answered\(why)")
        }
        if accepted > 0 {
            let lost = [(purged, "purged"), (dropped, "dropped")].filter { $0.0 > 0 }.map { ", \($0) \($1)" }.joined()
            parts.append("\(accepted) \(accepted == 1 ? "event" : "events") kept, \(delivered) delivered later\(lost)")
        }
        return parts.isEmpty ? "nothing to read and no event to keep" : parts.joined(separator: "; ")
    }
}

extension Findings.Linking {
    /// The finding as a phrase.
    public var sentence: String {
        if let failure { return failure }
        var parts: [String] = []
        if flags > 0 { parts.append("\(flagsKept) of \(flags) values") }
        if places > 0 { parts.append("\(placesKept) of \(places) places in experiments") }
        if waiting > 0 { parts.append("\(waitingKept) of \(waiting) waiting events") }
        let told =
            isVendorTold ? "the vendor is told that both are one user" : "the vendor isn't told who it was before"
        let how = requests > 0 ? " in \(requests) \(requests == 1 ? "request" : "requests")" : ""
        return parts.isEmpty ? told + how : "kept: \(parts.joined(separator: ", ")); \(told)\(how)"
    }
}

extension Findings.Withdrawal {
    /// The finding as a phrase.
    public var sentence: String {
        var parts = ["\(purged) waiting \(purged == 1 ? "event" : "events") removed, \(waiting) left"]
        if flags > 0 { parts.append("\(flagsKept) of \(flags) flags still decided") }
        parts.append(isVendorTold ? "the vendor is told" : "the vendor isn't told")
        parts.append(arrivals == 0 ? "nothing arrives later" : "\(arrivals) arrive later all the same")
        return parts.joined(separator: "; ")
    }
}
