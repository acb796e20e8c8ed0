import Experimentation

/// The metadata that names the vendor that answered.
enum Answerer {
    static let key = Assignment.partKey
}
