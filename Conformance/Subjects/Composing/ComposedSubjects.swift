import ConformanceKit
import Experimentation
import ExperimentationComposition
import FlagshipAdapter

extension ComposedSubject {
    /// Sigma decides, Evergage takes events; its actions only have names, so the name carries the exposure.
    public static let sigmaEvergage = ComposedSubject(
        "sigma+evergage",
        of: [Part("sigma", SigmaSubject()), Part("evergage", EvergageSubject())],
        exposures: .byName
    )

    /// Flagship decides; it, Engage and a file take events.
    ///
    /// The suite watches each of the three in turn.
    public static let flagshipEngageFile = ["flagship", "engage", "file"].map { witness in
        ComposedSubject(
            "flagship+engage+file",
            of: [
                Part("flagship", FlagshipSubject()), Part("engage", EngageSubject()), Part("file", FileSubject()),
            ],
            witness: witness
        )
    }

    /// Two flags from Flagship, which also takes the events, all others from Sigma; both decide on this device.
    public static let flagshipSigma = ComposedSubject(
        "flagship-bucketing+sigma",
        of: [Part("flagship", FlagshipSubject(mode: .bucketing)), Part("sigma", SigmaSubject())],
        decisions: twoFromFlagship,
        exposures: .byName
    )

    /// The same with the Decision API, which is asked for each user while Sigma's rules are valid for all users.
    ///
    /// The cases about a single vendor's refresh don't fit: while Sigma's rules are valid, a refresh can't fail.
    public static let mixed = ComposedSubject(
        "flagship+sigma",
        of: [Part("flagship", FlagshipSubject()), Part("sigma", SigmaSubject())],
        decisions: twoFromFlagship,
        exposures: .byName
    )

    private static let twoFromFlagship = DecisionTable(
        [.flags(["welcome", "discount"], from: "flagship")],
        others: ["sigma"]
    )

    /// Each composition once; one in which several parts take events is watched from the side of the file.
    public static let few = all.filter { [nil, "file"].contains($0.witness) }

    /// Every composition that the suite tests, from every side.
    public static let all = [sigmaEvergage] + flagshipEngageFile + [flagshipSigma]
}

extension ExposureEvent {
    /// For a vendor whose events have a name and nothing else.
    fileprivate static let byName = ExposureEvent(name: "experiment_viewed {experiment} {variation}", fields: [:])
}
