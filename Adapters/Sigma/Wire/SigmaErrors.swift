import AdapterKit
import Experimentation

/// The errors of a ``SigmaClient``, by the names of the vendor's SDK.
public enum SigmaError: Error, Sendable, CustomStringConvertible {
    /// A client with this tag already exists.
    case initializationOfExistingClient(tag: String)
    /// The configuration is unavailable after all attempts.
    case requestConfigFailed(SigmaNetworkError)
    /// The location is unavailable after all attempts.
    case requestLocationFailed(SigmaNetworkError)
    /// No flag has this name, neither in the project nor in an experiment.
    case featureFlagNotFound(featureFlag: String)
    /// The flag has no rules.
    case featureFlagNoRules(featureFlag: String)
    /// None of the flag's rules matches this user, and none is for all users.
    case featureFlagRulesNotSatisfied(featureFlag: String)
    /// The configuration has no experiments.
    case experimentsEmpty
    /// No experiment has this name.
    case experimentNotFound(experiment: String)
    /// The experiment has no value for the flag in the user's group.
    case experimentGroupNotMatchingFeatureFlagGroup(
        experiment: String,
        featureFlag: String,
        userGroup: String,
        featureFlagGroups: [String]
    )
    /// The user has no id of the kind that the experiment splits by.
    case experimentSplitIdNotFound(experiment: String)
    /// The experiment has no group with this index.
    case experimentGroupIndexNotFound(experiment: String, index: Int)
    /// The user has already been forced into the experiment.
    case experimentAlreadyContainsUser(experiment: String)
    /// The user has already been forced into this group.
    case experimentGroupAlreadyContainsUser(experiment: String, index: Int)
    /// No holdout has this name.
    case holdoutNotFound(holdout: String)
    /// Nothing that could be undone has been forced.
    case noForceIncludedExperiments

    /// What happened, for a person.
    public var description: String { "Sigma warn: " + sentence }

    private var sentence: String {
        switch self {
        case .initializationOfExistingClient(let tag): "a client with the tag \"\(tag)\" exists"
        case .requestConfigFailed(let cause): "the configuration is unavailable: \(cause)"
        case .requestLocationFailed(let cause): "the location is unavailable: \(cause)"
        case .featureFlagNotFound(let flag): "there is no feature flag \"\(flag)\""
        case .featureFlagNoRules(let flag): "the feature flag \"\(flag)\" has no rules"
        case .featureFlagRulesNotSatisfied(let flag): "no rule of the feature flag \"\(flag)\" is for this user"
        case .experimentsEmpty: "there are no experiments"
        case .experimentNotFound(let name): "there is no experiment \"\(name)\""
        case .experimentGroupNotMatchingFeatureFlagGroup(let name, let flag, let group, let groups):
            "the experiment \"\(name)\" has the feature flag \"\(flag)\" for \(groups), not for the group \"\(group)\""
        case .experimentSplitIdNotFound(let name): "the user has no id that the experiment \"\(name)\" splits by"
        case .experimentGroupIndexNotFound(let name, let index): "the experiment \"\(name)\" has no group \(index)"
        case .experimentAlreadyContainsUser(let name): "the user is forced into the experiment \"\(name)\" already"
        case .experimentGroupAlreadyContainsUser(let name, let index):
            "the user is forced into the group \(index) of the experiment \"\(name)\" already"
        case .holdoutNotFound(let name): "there is no holdout \"\(name)\""
        case .noForceIncludedExperiments: "no experiment has been forced"
        }
    }
}

/// Why the service gave no valid answer.
public enum SigmaNetworkError: Error, Sendable, CustomStringConvertible {
    /// The base address isn't valid.
    case incorrectURL(String)
    /// There was no complete answer: no connection, a broken connection, or a time-out.
    case urlError(any Error)
    /// The status isn't from 200 to 299.
    case wrongStatusCode(Int)
    /// The body is invalid.
    case decodingError(any Error)
    /// The answer has no body.
    case noData
    /// Any other error, as a description.
    case customError(String)

    /// What happened, for a person; an invalid address isn't repeated, since it may hold a password.
    public var description: String {
        switch self {
        case .incorrectURL: "the base address isn't valid"
        case .urlError(let error): "no answer (\(error))"
        case .wrongStatusCode(let status): "status \(status)"
        case .decodingError(let error): "an answer that can't be read (\(error))"
        case .noData: "an answer without a body"
        case .customError(let text): text
        }
    }
}

extension SigmaNetworkError {
    init(_ error: ExperimentationError) {
        self =
            switch error.code {
            case .parseError, .tooLarge: .decodingError(error)
            default: .urlError(error)
            }
    }

    /// Returns the neutral error; `what` is what was requested.
    func neutral(asking what: String) -> ExperimentationError {
        let code: ErrorCode
        switch self {
        case .incorrectURL: code = .configuration
        case .urlError(let error): code = (error as? ExperimentationError)?.code ?? .transport
        case .wrongStatusCode(let status): code = ReadFailure.code(of: status) ?? .vendorFault
        case .customError: code = .vendorFault
        case .decodingError, .noData: code = .parseError
        }
        return ExperimentationError(code, "Sigma's \(what) is unavailable: \(self)", cause: self)
    }
}
