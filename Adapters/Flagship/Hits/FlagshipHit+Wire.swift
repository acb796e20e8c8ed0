import Experimentation

extension FlagshipHit {
    /// The type under which the core carries a hit that only this vendor has.
    static let nativeType = "flagship.hit"

    /// The required wire members of each type.
    private static let required: [String: [String]] = [
        "SCREENVIEW": ["dl"], "PAGEVIEW": ["dl"], "TRANSACTION": ["tid", "ta"], "ITEM": ["tid", "in", "ic"],
        "EVENT": ["ec", "ea"], "SEGMENT": ["s"],
    ]

    /// The common parameters that are texts: their wire members, and the neutral event's attributes that they come
    /// from.
    private static let commonTexts: [(member: String, attribute: String, path: any CommonText)] = [
        ("uip", "userIp", \.userIP), ("sr", "screenResolution", \.screenResolution),
        ("sd", "screenColorDepth", \.screenColorDepth), ("ul", "userLanguage", \.userLanguage),
        ("dl", "location", \.location),
    ]
    private typealias CommonText = WritableKeyPath<Common, String?> & Sendable

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
        var common = Common(sessionNumber: own.removeValue(forKey: "sn")?.intValue)
        for text in Self.commonTexts { common[keyPath: text.path] = own.removeValue(forKey: text.member)?.stringValue }
        for name in ["t", "cid", "ds", "vid", "cuid", "qt"] { own[name] = nil }
        self.init(type, own: own, common: common)
    }

    /// The type, and the common and own members, without visitor and time.
    var fields: [String: FlagValue] {
        var fields = own
        fields["t"] = .string(type)
        fields["sn"] = common.sessionNumber.map { .int($0) }
        for text in Self.commonTexts { fields[text.member] = common[keyPath: text.path].map { .string($0) } }
        return fields
    }

    /// Takes the common parameters from a neutral event's attributes, by their names in this adapter.
    ///
    /// - Returns: The names of the attributes that it took; a parameter that the hit already has stays.
    @discardableResult
    mutating func addCommon(_ attributes: Attributes) -> Set<String> {
        var taken: Set<String> = []
        if common.sessionNumber == nil, let number = attributes["sessionNumber"]?.intValue {
            common.sessionNumber = number
            taken.insert("sessionNumber")
        }
        for text in Self.commonTexts where common[keyPath: text.path] == nil {
            guard let value = attributes[text.attribute]?.stringValue else { continue }
            common[keyPath: text.path] = value
            taken.insert(text.attribute)
        }
        return taken
    }

    /// Checks for values that the collector would refuse; empty texts pass, as in the original.
    ///
    /// - Throws: ``ErrorCode/invalidArgument`` naming the member.
    func validate() throws(ExperimentationError) {
        let fields = fields
        for name in Self.required[type] ?? [] {
            let isThere = type == "SEGMENT" ? fields[name]?.objectValue != nil : fields[name]?.stringValue != nil
            if !isThere { throw ExperimentationError(.invalidArgument, "a hit of type \(type) needs '\(name)'") }
        }
        guard FlagValue.object(fields).isFinite else {
            throw ExperimentationError(.invalidArgument, "a hit of type \(type) has a number that isn't finite")
        }
        if type == "EVENT", fields["ec"]?.stringValue.flatMap(Category.init(rawValue:)) == nil {
            throw ExperimentationError(.invalidArgument, "'ec' must be 'Action Tracking' or 'User Engagement'")
        }
    }
}
