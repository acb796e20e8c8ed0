import Experimentation

extension World.Experiment {
    /// A part of a layer; experiments whose parts don't overlap share no user.
    public struct Layer: Sendable, Hashable {
        /// The layer's id.
        public var id: String
        /// Where the part begins, from 0 to 100.
        public var from: Int
        /// Where the part ends; the number itself belongs to the next part.
        public var to: Int

        /// Creates a part of a layer.
        public init(_ id: String, from: Int, to: Int) {
            self.id = id
            self.from = from
            self.to = to
        }

        /// Whether a user belongs to the part: the same in every run, and independent of other layers.
        public func holds(_ userID: String) -> Bool { holds(World.bucket("layer \(id)", userID: userID)) }

        func holds(_ bucket: Int) -> Bool { (from..<to).contains(bucket) }
    }
}

extension World.Experiment.Layer {
    /// Reads an experiment's layer, if it has one.
    init?(reading reader: inout DocumentReader) throws(DocumentError) {
        let isThere = reader.has("layer")
        guard isThere else {
            _ = reader.value("layer")
            return nil
        }
        var part = try reader.reader("layer")
        self.init(
            try part.name("id"),
            from: try part.int("from", in: 0...100),
            to: try part.int("to", in: 0...100)
        )
        guard from < to else { throw part.wrong("to", expected: "more than \"from\", which is \(from)") }
        try part.finish()
    }

    var document: FlagValue { ["id": .string(id), "from": .int(from), "to": .int(to)] }
}
