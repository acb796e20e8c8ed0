import ConformanceKit
import Experimentation

/// A fault while users see an experiment.
public enum FaultProfile: String, Sendable, Hashable, Codable, CaseIterable {
    /// No fault.
    case calm
    /// The vendor rejects requests for a while.
    case refusals
    /// The vendor accepts exposures, but the connection breaks before it answers.
    case brokenAnswers
    /// The vendor is unreachable while users arrive, and returns.
    case absence
    /// The application ends before it has sent anything, and restarts.
    case restart

    /// A description of the fault.
    public var title: String {
        switch self {
        case .calm: "nothing goes wrong"
        case .refusals: "five requests get a 503"
        case .brokenAnswers: "five answers are cut off"
        case .absence: "the vendor is away"
        case .restart: "killed before it has sent"
        }
    }

    /// The faults for the vendor's script.
    var faults: [WorldFault] {
        switch self {
        case .refusals:
            [WorldFault(.status(503, retryAfter: nil), on: .exposures, after: 1, times: 5)]
        case .brokenAnswers: [WorldFault(.resetAfterApplying, on: .exposures, after: 1, times: 5)]
        case .calm, .absence, .restart: []
        }
    }
}

/// How many exposures of an experiment arrive, and whether they match the weights.
///
/// A delivery that loses or repeats exposures of one variation more than those of another spoils a correctly allocated
/// experiment.
public struct ExposureRatio: Sendable, Hashable, Codable {
    /// The vendor.
    public var vendor: String
    /// The fault profile.
    public var profile: FaultProfile
    /// The experiment's id.
    public var experiment: String
    /// The variations.
    public var variations: [String]
    /// The number of users who saw each variation.
    public var seen: [Int]
    /// The number of users with an exposure at the vendor, by variation.
    public var arrived: [Int]
    /// The number of repeated exposures.
    public var repeated: Int
    /// Whether the arrivals match the weights; `nil` if there is nothing to test.
    public var ratio: RatioTest?
    /// Whether ``ratio`` is missing only because too few arrived; if none did, that is a loss instead.
    public var isTooFew: Bool
    /// Why nothing was counted; all other fields are empty then.
    public var problem: String?

    /// The number of users whose exposures never arrived.
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
        ratio: RatioTest? = nil,
        isTooFew: Bool = false
    ) {
        self.vendor = vendor
        self.profile = profile
        self.experiment = experiment
        self.variations = variations
        self.seen = seen
        self.arrived = arrived
        self.repeated = repeated
        self.ratio = ratio
        self.isTooFew = isTooFew
    }
}
