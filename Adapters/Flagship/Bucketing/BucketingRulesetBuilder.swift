import Experimentation
import Foundation

/// Numbers the variations, flags and outcomes of a file.
struct BucketingRulesetBuilder {
    let rules: FlagshipRules
    let automatic: [String: FlagValue]
    private(set) var flags: [FlagCatalogue.Flag] = []
    private(set) var assignments: [Assignment] = []
    private(set) var candidates: [[Int]] = []
    private(set) var groups: [BucketingRuleset.Group] = []
    private(set) var variations: [BucketingRuleset.Variation] = []
    private(set) var settings: [BucketingRuleset.Setting] = []
    private var indices: [[UInt8]: Int] = [:]

    init(rules: FlagshipRules, automatic: [String: FlagValue]) {
        self.rules = rules
        self.automatic = automatic
    }

    mutating func campaigns(of file: BucketingFile) -> [BucketingRuleset.Campaign] {
        var seen: Set<String> = []
        var campaigns: [BucketingRuleset.Campaign] = []
        for campaign in file.campaigns {
            // Of two campaigns with the same id the server takes the first.
            if rules == .server, !seen.insert(campaign.id).inserted { continue }
            campaigns.append(prepare(campaign, index: campaigns.count))
        }
        for flag in candidates.indices { candidates[flag].reverse() }
        return campaigns
    }

    private mutating func prepare(_ campaign: BucketingFile.Campaign, index: Int) -> BucketingRuleset.Campaign {
        let first = groups.count
        for group in campaign.groups { groups.append(prepare(group, of: index)) }
        return BucketingRuleset.Campaign(
            isOpenTo: campaign.bucketRanges,
            isTest: campaign.type == "ab",
            groups: first..<groups.count
        )
    }

    private mutating func prepare(_ group: BucketingFile.Group, of campaign: Int) -> BucketingRuleset.Group {
        var hash = FlagshipMurmur3()
        hash.feed(group.id)
        let start = variations.count
        var sum = 0
        for variation in group.variations {
            let (next, isOverflow) = sum.addingReportingOverflow(variation.allocation)
            sum = isOverflow ? (variation.allocation > 0 ? .max : .min) : next
            let first = settings.count
            settings += outcomes(of: variation, at: campaign)
            let (id, range) = (variation.origin.variationId, first..<settings.count)
            variations.append(BucketingRuleset.Variation(id: id, upTo: sum, settings: range))
        }
        var prepared = BucketingRuleset.Group(
            id: group.id,
            hash: hash,
            targeting: group.targeting.map { list in
                (list ?? []).map { BucketingRule($0, rules: rules, automatic: automatic) }
            },
            variations: start..<variations.count
        )
        let asksForMore = prepared.targeting.joined().contains { rule in
            if case .everybody = rule.subject { false } else { true }
        }
        if !asksForMore {
            let anybody = EvaluationContext(user: User(id: ""), date: .distantPast)
            prepared.isForEverybody = prepared.isMeant(for: anybody, by: rules)
        }
        return prepared
    }

    private mutating func outcomes(
        of variation: BucketingFile.Variation,
        at index: Int
    ) -> [BucketingRuleset.Setting] {
        let origin = variation.origin
        let assignment = assignments.count
        // One for all: it is the largest part of a flag.
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
