import Experimentation

extension MigrationPlan {
    /// Reads a plan file: a JSON object as in `docs/schemas/migration-plan.schema.json`.
    ///
    /// Leaves the members `from` and `to`, which name the vendors, to the caller.
    ///
    /// - Parameters:
    ///   - json: The file in UTF-8.
    ///   - file: Its name, for messages.
    /// - Throws: `ErrorCode.configuration` with file, line, key and what was expected.
    public init(json: [UInt8], file: String) throws(ExperimentationError) {
        let text = try PlanText(json, name: file)
        do throws(PlanFault) {
            var reader = try PlanReader(text.value, at: "")
            self = try MigrationPlan(&reader)
            try reader.finish()
            if let fault = faults().first { throw fault }
        } catch {
            throw text.error(error)
        }
    }

    /// Formats faults with their lines in a plan file.
    ///
    /// - Parameters:
    ///   - faults: The result of ``Mapping/faults(old:new:)``.
    ///   - json: The file in UTF-8.
    ///   - file: Its name.
    /// - Returns: A line for each fault, with file, line, key and problem.
    public static func located(_ faults: [PlanFault], in json: [UInt8], file: String) -> [String] {
        guard let text = try? PlanText(json, name: file) else { return faults.map(\.description) }
        return faults.map { text.error($0).message }
    }

    private init(_ reader: inout PlanReader) throws(PlanFault) {
        self.init()
        reader.ignore("from")
        reader.ignore("to")
        if let text = try reader.text("stage") { stage = try PlanReader.word(text, "stage") }
        if let number = try reader.number("share") { share = number }
        if let number = try reader.integer("revision") { revision = number }
        if let text = try reader.text("salt") { salt = text }
        if let text = try reader.text("reassignment") { reassignment = try PlanReader.word(text, "reassignment") }
        if let text = try reader.text("pins") { pins = try PlanReader.word(text, "pins") }
        if let isHeld = try reader.bool("holdsOnAlarm") { holdsOnAlarm = isHeld }
        if var flag = try reader.object("stageFlag") {
            let side: MigrationSide = try PlanReader.word(try flag.requiredText("side"), "stageFlag.side")
            stageFlag = StageFlag(of: side, key: try flag.requiredText("key"))
            try flag.finish()
        }
        var mapped: [ExperimentMapping] = []
        for value in try reader.list("mapping") {
            var reader = value
            mapped.append(
                ExperimentMapping(
                    old: try Self.place(&reader, "old"),
                    new: try Self.place(&reader, "new"),
                    variations: try reader.texts("variations"),
                    weights: try reader.numbers("weights")
                )
            )
            try reader.finish()
        }
        mapping = Mapping(mapped)
    }

    private static func place(
        _ reader: inout PlanReader,
        _ key: String
    ) throws(PlanFault) -> ExperimentMapping.Place {
        if let id = reader.plainText(key) { return .init(id) }
        guard var place = try reader.object(key) else {
            throw PlanFault(reader.path(key), "missing; expected an experiment's id")
        }
        let found = ExperimentMapping.Place(try place.requiredText("experiment"), group: try place.text("group"))
        try place.finish()
        return found
    }

    /// The plan as JSON, to be corrected by hand.
    public var document: FlagValue {
        func place(_ place: ExperimentMapping.Place) -> FlagValue {
            place.group == place.experiment
                ? .string(place.experiment)
                : ["experiment": .string(place.experiment), "group": .string(place.group)]
        }
        var members: [String: FlagValue] = [
            "stage": .string(stage.rawValue), "share": .double(share), "salt": .string(salt),
            "reassignment": .string(reassignment.rawValue), "pins": .string(pins.rawValue),
            "holdsOnAlarm": .bool(holdsOnAlarm),
            "mapping": .array(
                mapping.experiments.map { experiment in
                    var members: [String: FlagValue] = [
                        "old": place(experiment.old), "new": place(experiment.new),
                        "variations": .object(experiment.variations.mapValues { .string($0) }),
                    ]
                    if !experiment.weights.isEmpty {
                        members["weights"] = .object(experiment.weights.mapValues { .double($0) })
                    }
                    return .object(members)
                }
            ),
        ]
        if revision != 0 { members["revision"] = .int(revision) }
        if let stageFlag {
            members["stageFlag"] = ["side": .string(stageFlag.side.rawValue), "key": .string(stageFlag.key)]
        }
        return .object(members)
    }
}
