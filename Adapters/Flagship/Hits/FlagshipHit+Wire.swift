import Experimentation

extension FlagshipHit {
    /// The type under which the core carries a hit that only this vendor has.
    static let nativeType = "flagship.hit"

    /// The required wire members of each type.
    private static let required: [String: [String]] = [
        "SCREENVIEW": ["dl"], "PAGEVIEW": ["dl"], "TRANSACTION": ["tid", "ta"], "ITEM": ["tid", "in", "ic"],
        "EVENT": ["ec", "ea"], "SEGMENT": ["s"],
    ]

    /// The hit as a native event of the core.
    var native: NativeEvent {
        let isDear = type == "TRANSACTION" || type == "ITEM" || isConsent
        let isCheap = type == "SCREENVIEW" || type == "PAGEVIEW" || type == "SEGMENT"
        return NativeEvent(
            type: Self.nativeType,
            payload: fields,
            priority: isDear ? .high : isCheap ? .low : .normal
        )
    }

    /// Reads a hit that the core carried.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for an event of another vendor, ``ErrorCode/invalidArgument`` for an invalid
    ///   hit.
    init(_ native: NativeEvent) throws(ExperimentationError) {
        guard native.type == Self.nativeType else {
            throw ExperimentationError(.unsupported, "Flagship doesn't know an event of the type \"\(native.type)\"")
        }
        guard let type = native.payload["t"]?.stringValue, Self.required[type] != nil else {
            throw ExperimentationError(.invalidArgument, "a Flagship hit needs a known type in \"t\"")
        }
        var own = native.payload
        let common = Common(
            userIP: own.removeText("uip"),
            screenResolution: own.removeText("sr"),
            screenColorDepth: own.removeText("sd"),
            userLanguage: own.removeText("ul"),
            sessionNumber: own.removeValue(forKey: "sn")?.intValue,
            location: own.removeText("dl")
        )
        for name in ["t", "cid", "ds", "vid", "cuid", "qt"] { own[name] = nil }
        self.init(type, own: own, common: common)
    }

    /// The type, and the common and own members, without visitor and time.
    var fields: [String: FlagValue] {
        var fields = own
        fields["t"] = .string(type)
        fields["dl"] = common.location.map { .string($0) }
        fields["uip"] = common.userIP.map { .string($0) }
        fields["sr"] = common.screenResolution.map { .string($0) }
        fields["sd"] = common.screenColorDepth.map { .string($0) }
        fields["ul"] = common.userLanguage.map { .string($0) }
        fields["sn"] = common.sessionNumber.map { .int($0) }
        return fields
    }

    /// Takes the common parameters from a neutral event's attributes, by the names that they have here.
    mutating func addCommon(_ attributes: Attributes) {
        common.userIP = common.userIP ?? attributes["userIp"]?.stringValue
        common.screenResolution = common.screenResolution ?? attributes["screenResolution"]?.stringValue
        common.screenColorDepth = common.screenColorDepth ?? attributes["screenColorDepth"]?.stringValue
        common.userLanguage = common.userLanguage ?? attributes["userLanguage"]?.stringValue
        common.sessionNumber = common.sessionNumber ?? attributes["sessionNumber"]?.intValue
        common.location = common.location ?? attributes["location"]?.stringValue
    }

    /// Checks for values that the collector would refuse.
    ///
    /// - Throws: ``ErrorCode/invalidArgument`` naming the member.
    func validate() throws(ExperimentationError) {
        let fields = fields
        for name in Self.required[type] ?? [] {
            switch fields[name] {
            case .string(let text) where !text.isEmpty: break
            // An empty affiliation passes, as in the original.
            case .string where name == "ta": break
            case .object where name == "s": break
            default: throw ExperimentationError(.invalidArgument, "a hit of type \(type) needs '\(name)'")
            }
        }
        guard FlagValue.object(fields).isFinite else {
            throw ExperimentationError(.invalidArgument, "a hit of type \(type) has a number that isn't finite")
        }
        if type == "EVENT", fields["ec"]?.stringValue.flatMap(Category.init(rawValue:)) == nil {
            throw ExperimentationError(.invalidArgument, "'ec' must be 'Action Tracking' or 'User Engagement'")
        }
    }
}

extension [String: FlagValue] {
    fileprivate mutating func removeText(_ name: String) -> String? { removeValue(forKey: name)?.stringValue }
}
