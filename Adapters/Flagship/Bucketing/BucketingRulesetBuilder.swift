import Experimentation
import Foundation

/// Reads the campaigns of a file, and numbers their variations, flags and outcomes.
struct BucketingRulesetBuilder {
    let rules: FlagshipRules
    let automatic: [String: FlagValue]
    private(set) var flags: [FlagCatalogue.Flag] = []
    private(set) var assignments: [Assignment] = []
    private(set) var candidates: [[Int]] = []
    private(set) var groups: [BucketingRuleset.Group] = []
    private(set) var variations: [BucketingRuleset.Choice] = []
    private(set) var settings: [BucketingRuleset.Setting] = []
    private(set) var unreadable = 0
    private var indices: [[UInt8]: Int] = [:]

    init(rules: FlagshipRules, automatic: [String: FlagValue]) {
        self.rules = rules
        self.automatic = automatic
    }

    mutating func campaigns(of file: CampaignsDocument) -> [BucketingRuleset.Campaign] {
        var seen: Set<String> = []
        var campaigns: [BucketingRuleset.Campaign] = []
        for json in file.campaigns {
            guard let members = json.objectValue else {
                unreadable += 1
                continue
            }
            let origin = FlagshipFlagMetadata(campaign: members)
            // Of two campaigns with the same id, the server takes the first.
            if rules == .server, !seen.insert(origin.campaignId).inserted { continue }
            campaigns.append(prepare(campaign: members, origin, index: campaigns.count))
        }
        for flag in candidates.indices { candidates[flag].reverse() }
        return campaigns
    }

    private mutating func prepare(
        campaign members: [String: FlagValue],
        _ origin: FlagshipFlagMetadata,
        index: Int
    ) -> BucketingRuleset.Campaign {
        let first = groups.count
        for group in objects(members["variationGroups"]) { groups.append(prepare(group: group, of: origin, index)) }
        let ranges = (members["bucketRanges"]?.arrayValue ?? []).compactMap { range -> Range<Double>? in
            let ends = range.objectValue?["r"]?.arrayValue?.compactMap(\.doubleValue) ?? []
            return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
        }
        return BucketingRuleset.Campaign(
            isOpenTo: ranges,
            isTest: origin.campaignType == "ab",
            groups: first..<groups.count
        )
    }

    private mutating func prepare(
        group members: [String: FlagValue],
        of campaign: FlagshipFlagMetadata,
        _ index: Int
    ) -> BucketingRuleset.Group {
        var origin = campaign
        (origin.variationGroupId, origin.variationGroupName) = (members.text("id"), members.text("name"))
        let alternatives = objects(members["targeting"]?.objectValue?["targetingGroups"])
        let start = variations.count
        var sum = 0
        for variation in objects(members["variations"]) {
            let allocation = variation["allocation"]?.intValue ?? 0
            let (next, isOverflow) = sum.addingReportingOverflow(allocation)
            sum = isOverflow ? (allocation > 0 ? .max : .min) : next
            origin.add(variation: variation)
            let first = settings.count
            settings += outcomes(of: variation, origin, index)
            let range = first..<settings.count
            variations.append(BucketingRuleset.Choice(id: origin.variationId, upTo: sum, settings: range))
        }
        var group = BucketingRuleset.Group(
            id: origin.variationGroupId,
            hash: FlagshipMurmur3(of: origin.variationGroupId),
            targeting: alternatives.map { conditions($0["targetings"]) },
            variations: start..<variations.count
        )
        let asksForMore = group.targeting.joined().contains { rule in
            if case .everybody = rule.subject { false } else { true }
        }
        if !asksForMore {
            let anybody = EvaluationContext(user: User(id: ""), date: .distantPast)
            group.isForEverybody = group.isMeant(for: anybody, by: rules)
        }
        return group
    }

    private func conditions(_ json: FlagValue?) -> [BucketingRule] {
        (Self.objects(json) ?? []).map { BucketingRule($0, rules: rules, automatic: automatic) }
    }

    private mutating func objects(_ json: FlagValue?) -> [[String: FlagValue]] {
        let objects = Self.objects(json)
        if objects == nil { unreadable += 1 }
        return objects ?? []
    }

    /// Returns the objects of a list; `nil` for one with anything else in it, which counts as empty, as in the
    /// original.
    private static func objects(_ json: FlagValue?) -> [[String: FlagValue]]? {
        let list = json?.arrayValue ?? []
        let objects = list.compactMap(\.objectValue)
        return objects.count == list.count ? objects : nil
    }

    private mutating func outcomes(
        of variation: [String: FlagValue],
        _ origin: FlagshipFlagMetadata,
        _ index: Int
    ) -> [BucketingRuleset.Setting] {
        let assignment = assignments.count
        // All flags of a variation share one dictionary, because it is the largest part of a flag.
        let metadata = origin.toDictionary()
        assignments.append(origin.assignment(describedBy: metadata))
        let set = variation.flags.map { key, value in
            let flag = number(of: key)
            let outcome = flags[flag].outcomes.count
            flags[flag].outcomes.append(
                origin.resolution(of: value, assignment: assignment, describedBy: metadata)
            )
            if candidates[flag].last != index { candidates[flag].append(index) }
            return BucketingRuleset.Setting(flag: flag, outcome: outcome)
        }
        return set.sorted { $0.flag < $1.flag }
    }

    private mutating func number(of key: String) -> Int {
        let bytes = Array(key.utf8)
        if let index = indices[bytes] { return index }
        indices[bytes] = flags.count
        flags.append(FlagCatalogue.Flag(key, outcomes: []))
        candidates.append([])
        return flags.count - 1
    }
}
