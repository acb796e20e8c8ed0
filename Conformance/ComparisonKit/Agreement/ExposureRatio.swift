import ConformanceKit
import Experimentation

/// Something that goes wrong while users see an experiment.
public enum FaultProfile: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing goes wrong.
    case calm
    /// The vendor refuses for a while.
    case refusals
    /// The vendor takes exposures, and the connection breaks before it says so.
    case brokenAnswers
    /// The vendor is away while users come, and returns.
    case absence
    /// The application ends before it has sent anything, and starts again.
    case restart

    /// What goes wrong, for a person.
    public var title: String {
        switch self {
        case .calm: "nothing goes wrong"
        case .refusals: "five requests get a 503"
        case .brokenAnswers: "five answers are cut off"
        case .absence: "the vendor is away"
        case .restart: "killed before it has sent"
        }
    }

    /// The faults that go into the vendor's script.
    var faults: [WorldFault] {
        switch self {
        case .refusals:
            [WorldFault(.status(503, retryAfter: nil), on: .exposures, after: 1, times: 5)]
        case .brokenAnswers: [WorldFault(.resetAfterApplying, on: .exposures, after: 1, times: 5)]
        case .calm, .absence, .restart: []
        }
    }
}

/// What arrives of an experiment's exposures, and whether it is in the ratio of the weights.
///
/// A way of sending that loses or repeats more of one variation than of another spoils an experiment that was allocated
/// well.
public struct ExposureRatio: Sendable, Hashable, Codable {
    /// The vendor.
    public var vendor: String
    /// What went wrong meanwhile.
    public var profile: FaultProfile
    /// The experiment's id.
    public var experiment: String
    /// The variations.
    public var variations: [String]
    /// How many users saw each variation.
    public var seen: [Int]
    /// How many users the vendor has an exposure of, by variation.
    public var arrived: [Int]
    /// How many arrivals were of an exposure that the vendor had already.
    public var repeated: Int
    /// Whether what arrived is in the ratio of the weights; `nil` if it can't be tested.
    public var ratio: RatioTest?
    /// Why there is nothing to count; everything else is empty then.
    public var problem: String?

    /// How many users' exposures never arrived.
    public var lost: Int { max(0, seen.reduce(0, +) - arrived.reduce(0, +)) }

    /// Creates a result without figures.
    init(vendor: String, profile: FaultProfile, experiment: String, problem: String) {
        self.init(vendor: vendor, profile: profile, experiment: experiment, variations: [], seen: [], arrived: [])
        self.problem = problem
    }

    init(
        vendor: String,
        profile: FaultProfile,
        experiment: String,
        variations: [String],
        seen: [Int],
        arrived: [Int],
        repeated: Int = 0,
        ratio: RatioTest? = nil
    ) {
        self.vendor = vendor
        self.profile = profile
        self.experiment = experiment
        self.variations = variations
        self.seen = seen
        self.arrived = arrived
        self.repeated = repeated
        self.ratio = ratio
    }
}
