/// What a story showed of the questions that the steps alone don't answer; `nil` where it never came to it.
public struct Findings: Sendable, Hashable, Codable {
    /// What the application could do while the vendor was away.
    public var offline: Offline?
    /// What signing in kept of the time before.
    public var linking: Linking?
    /// What withdrawing consent left behind.
    public var withdrawal: Withdrawal?

    /// Creates findings.
    public init(offline: Offline? = nil, linking: Linking? = nil, withdrawal: Withdrawal? = nil) {
        self.offline = offline
        self.linking = linking
        self.withdrawal = withdrawal
    }

    /// What the application could do while the vendor was away.
    public struct Offline: Sendable, Hashable, Codable {
        /// How many flags were read that the vendor has.
        public var readings: Int
        /// How many of them had a value that the vendor had given earlier.
        public var answered: Int
        /// The reasons that the answered ones gave, each once.
        public var reasons: [String]
        /// How many events were accepted.
        public var accepted: Int
        /// How many of them still waited at the end of the story.
        public var waiting: Int

        /// Creates a finding.
        public init(
            readings: Int = 0,
            answered: Int = 0,
            reasons: [String] = [],
            accepted: Int = 0,
            waiting: Int = 0
        ) {
            self.readings = readings
            self.answered = answered
            self.reasons = reasons
            self.accepted = accepted
            self.waiting = waiting
        }
    }

    /// What signing in kept of the time before.
    public struct Linking: Sendable, Hashable, Codable {
        /// Why the user couldn't be signed in, if so.
        public var failure: String?
        /// How many flags were decided before.
        public var flags: Int
        /// How many of them had the same value right afterwards.
        public var flagsKept: Int
        /// How many places in experiments there were before.
        public var places: Int
        /// How many of them were the same after the next refresh.
        public var placesKept: Int
        /// How many events waited before.
        public var waiting: Int
        /// How many of them were still accounted for right afterwards, waiting or delivered.
        public var waitingKept: Int
        /// Whether the vendor was told that both ids are one user's.
        public var isVendorTold: Bool
        /// How many requests signing in took.
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

    /// What withdrawing consent left behind.
    public struct Withdrawal: Sendable, Hashable, Codable {
        /// How many events that waited were removed.
        public var purged: Int
        /// How many still waited right afterwards, the vendor's own consent signal aside.
        public var waiting: Int
        /// How many flags were decided before.
        public var flags: Int
        /// How many of them still were right afterwards.
        public var flagsKept: Int
        /// Whether the vendor was told.
        public var isVendorTold: Bool
        /// How many events reached the vendor later, its own consent signal aside.
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
    /// The finding in a few words.
    public var sentence: String {
        var parts: [String] = []
        if readings > 0 {
            let why = reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"
            parts.append("\(answered) of \(readings) readings answered\(why)")
        }
        if accepted > 0 {
            parts.append(
                "\(accepted) \(accepted == 1 ? "event" : "events") kept, \(accepted - waiting) delivered later"
            )
        }
        return parts.isEmpty ? "nothing to read and no event to keep" : parts.joined(separator: "; ")
    }
}

extension Findings.Linking {
    /// The finding in a few words.
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
    /// The finding in a few words.
    public var sentence: String {
        var parts = ["\(purged) waiting \(purged == 1 ? "event" : "events") removed, \(waiting) left"]
        if flags > 0 { parts.append("\(flagsKept) of \(flags) flags still decided") }
        parts.append(isVendorTold ? "the vendor is told" : "the vendor isn't told")
        parts.append(arrivals == 0 ? "nothing arrives later" : "\(arrivals) arrive later all the same")
        return parts.joined(separator: "; ")
    }
}
